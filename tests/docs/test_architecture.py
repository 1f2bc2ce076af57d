"""ARCHITECTURE.md's table of folders is what the code does."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.markdown import REPOSITORY, codes, tables

PAGE = REPOSITORY / "ARCHITECTURE.md"
PACKAGE = REPOSITORY / "gateway"


def allowed() -> dict[str, set[str]]:
    """What each folder or file of the package may import, as the table says."""
    [rows] = [table for table in tables(PAGE) if "may import" in table[0]]
    return {codes(row["`gateway/`"])[0].rstrip("/").removesuffix(".py"): set(codes(row["may import"])) for row in rows}


def unit(path: Path) -> str:
    """The folder or file right below the package that a module belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def units() -> set[str]:
    """Every folder and file right below the package; its version is no part of the structure."""
    return {unit(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a module imports, without the package's name."""
    package = path.relative_to(REPOSITORY).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join((*base, *filter(None, [node.module])))
            # `from gateway.api import errors` may name a module or a value: both stand for themselves.
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("gateway.") for name in names if name.startswith("gateway."))


def within(name: str, permitted: str) -> bool:
    return name == permitted or name.startswith(f"{permitted}.")


def test_every_folder_is_in_the_table() -> None:
    assert set(allowed()) == units()


def test_imports_point_the_way_the_table_says() -> None:
    table = allowed()
    strays = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in imported(path)
        if name.partition(".")[0] in units() - {unit(path)}
        and not any(within(name, permitted) for permitted in table[unit(path)])
    ]
    assert strays == []


def test_the_table_permits_no_more_than_is_used() -> None:
    used = {
        (unit(path), permitted)
        for path in PACKAGE.rglob("*.py")
        if unit(path) != "__init__"
        for permitted in allowed()[unit(path)]
        if any(within(name, permitted) for name in imported(path))
    }
    assert used == {(name, permitted) for name, permits in allowed().items() for permitted in permits}


def test_there_are_no_cycles() -> None:
    left = {name: {permitted.partition(".")[0] for permitted in permits} for name, permits in allowed().items()}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert left == {}
