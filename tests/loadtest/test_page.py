"""docs/loadtest.md says of prompts, users, shapes and kinds of failures what the code has."""

import re

from loadtest.client import Outcome
from loadtest.prompts import DEFAULT_MIX, KINDS, library
from loadtest.stats import quantiles
from tests.docs.markdown import REPOSITORY, codes, tables

PAGE = REPOSITORY / "docs" / "loadtest.md"
TEXT = PAGE.read_text()


def column(head: str) -> list[str]:
    """What the first column of a table names, by its heading."""
    [rows] = [table for table in tables(PAGE) if head in table[0]]
    return [codes(row[head])[0] for row in rows]


def test_prompts_and_their_lengths() -> None:
    [rows] = [table for table in tables(PAGE) if "kind" in table[0]]
    assert [codes(row["kind"])[0] for row in rows] == list(KINDS)
    for kind, row in zip(KINDS, rows, strict=True):
        sizes = quantiles(len(prompt.text) for prompt in library(kind))
        assert row["prompts"] == str(len(library(kind)))
        assert row["characters: p50, p90, max"] == f"{sizes.p50:.0f}, {sizes.p90:.0f}, {sizes.max:.0f}"
    assert f"`{DEFAULT_MIX}`" in TEXT


def test_users_and_shapes() -> None:
    source = (REPOSITORY / "loadtest" / "users" / "kinds.py").read_text()
    assert column("user") == sorted(
        re.findall(r"^class (\w+)\(", source, re.MULTILINE), key=lambda name: column("user").index(name)
    )
    curves = re.findall(r'"(\w+)": \w+', (REPOSITORY / "loadtest" / "shapes.py").read_text().split("CURVES")[1])
    assert column("`--shape`") == [*curves, "poisson"]


def test_kinds_of_failures() -> None:
    [paragraph] = [part for part in TEXT.split("\n\n") if "Failures are counted by kind" in part]
    assert set(codes(paragraph)) == set(Outcome) - {"ok", "cancelled"} | {"usage"}
