"""Results for the terminal."""

from collections.abc import Sequence

from bench.cells import HEADS, cells, memory_points, quietness
from bench.run import Results
from bench.targets import verdicts


def _wrap(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _align(texts: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(texts, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]).rstrip()


def _columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their cells; a longer head goes over several lines above them."""
    widths = [
        max(*(len(row[index]) for row in rows), *(len(word) for word in head.split()))
        for index, head in enumerate(heads)
    ]
    wrapped = [_wrap(head, width) for head, width in zip(heads, widths, strict=True)]
    height = max(map(len, wrapped))
    stacked = zip(*([""] * (height - len(lines)) + lines for lines in wrapped), strict=True)
    return "\n".join(_align(line, widths) for line in (*stacked, *rows))


def render(results: Results) -> str:
    """The figures, Spillway's memory, the targets' verdicts, and how quiet the machine was."""
    checks = [f"{verdict.word:7s} {verdict.text}: {verdict.figure or '-'}" for verdict in verdicts(results)]
    parts = [
        _columns(HEADS, [cells(row) for row in results.rows.values()]),
        *([f"spillway's memory: {memory_points(results)}"] if results.memory else []),
        "\n".join(checks),
        quietness(results),
    ]
    return "\n\n".join(parts)
