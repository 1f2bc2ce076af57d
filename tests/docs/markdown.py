"""Reads the project's pages: fenced blocks, tables, links."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")])

_FENCED = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block. `output` is the text block that follows a block of commands directly."""

    page: str
    line: int
    language: str
    text: str
    output: str | None = None

    @property
    def id(self) -> str:
        """Where it stands."""
        return f"{self.page}:{self.line}"

    @property
    def file_name(self) -> str | None:
        """The name that its first line gives it as a file: `# spillway.yaml`."""
        found = re.match(r"# (\S+\.yaml)\n", self.text)
        return found[1] if found else None

    @property
    def make_targets(self) -> list[str]:
        """What it makes, if it is nothing but calls of make."""
        lines = self.text.splitlines()
        return [line[5:] for line in lines] if all(line.startswith("make ") for line in lines) else []


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, without the indentation of a list around it."""
    source = page.read_text()
    found: list[Block] = []
    end = 0
    for match in _FENCED.finditer(source):
        text = textwrap.dedent(match["text"])
        between = source[end : match.start()]
        if match["language"] == "text" and found and found[-1].language == "sh" and not between.strip():
            last = found.pop()
            found.append(Block(last.page, last.line, last.language, last.text, text))
        else:
            line = source.count("\n", 0, match.start()) + 1
            found.append(Block(str(page.relative_to(REPOSITORY)), line, match["language"], text))
        end = match.end()
    return found


def all_blocks(language: str) -> list[Block]:
    """Every block in this language, on all pages."""
    return [block for page in PAGES for block in blocks(page) if block.language == language]


def tables(page: Path) -> list[list[dict[str, str]]]:
    """Every table of a page, as its rows by column heading."""
    found: list[list[dict[str, str]]] = []
    heads: list[str] = []
    for line in page.read_text().splitlines():
        if not line.startswith("|"):
            heads = []
            continue
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
        if not heads:
            heads = cells
            found.append([])
        elif set(line) - set("|- "):
            found[-1].append(dict(zip(heads, cells, strict=True)))
    return found


def codes(text: str) -> list[str]:
    """What stands between backticks."""
    return _CODE.findall(text)


def links(page: Path) -> list[str]:
    """The targets of a page's links."""
    return _LINK.findall(page.read_text())


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings can be linked by, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
