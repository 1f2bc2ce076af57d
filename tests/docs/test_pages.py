"""What pages say of each other, of fields, errors, reasons and states is so."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.config.policies import AdaptivePolicy, PinnedPolicy, ThresholdPolicy
from gateway.config.section import Section
from gateway.config.shape import ROOT, Shape, fields
from gateway.pools import State
from gateway.routing import Reason
from tests.docs.markdown import PAGES, REPOSITORY, all_blocks, anchors, codes, links, tables

README = REPOSITORY / "README.md"
OPERATIONS = REPOSITORY / "docs" / "operations.md"
POLICIES = {page.stem: page.read_text() for page in (REPOSITORY / "docs" / "policies").glob("*.md")}
HEADINGS = ["What it does", "Inputs", "Configuration", "Trade-offs", "Its own flaws"]
PREFIXES = {"": 1, "KiB": 1024, "MiB": 1024 * 1024}


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), link
        assert not anchor or anchor in anchors(found), link


def sections(shape: Shape = ROOT, name: str = "") -> Iterator[tuple[str, type[Section]]]:
    """Every section of the file, by the name of the field that holds it."""
    if shape.item is not None:
        yield from sections(shape.item, name)
    for section in shape.sections:
        yield name, section
        for field, inner in fields(section).items():
            yield from sections(inner, field)


DEFAULTS = {
    f"{name}.{field}": info.default for name, section in sections() for field, info in section.model_fields.items()
}


def test_fields_exist() -> None:
    holders = {name.partition(".")[0] for name in DEFAULTS} - {""}
    named = {code.partition(":")[0] for page in PAGES for code in codes(page.read_text())}
    meant = {name for name in named if re.fullmatch(r"\w+\.\w+", name) and name.partition(".")[0] in holders}
    assert len(meant) > 20
    assert meant - {"policy.high", "redis.error"} <= DEFAULTS.keys(), "those two are fields of /status"


def test_defaults_are_those_of_the_schema() -> None:
    said = re.findall(r"`(\w+\.\w+)`\s\((\d+(?:\.\d+)?)", OPERATIONS.read_text())
    assert len(said) > 10
    assert [(name, float(value)) for name, value in said] == [(name, DEFAULTS[name]) for name, _ in said]


def test_limits_are_those_of_the_schema() -> None:
    [rows] = [table for table in tables(OPERATIONS) if "field" in table[0] and "default" in table[0]]
    said = {}
    for row in rows:
        number, unit = re.findall(r"^(\d+)(?: ([KM]iB))?", row["default"])[0]
        said[codes(row["field"])[0]] = int(number) * PREFIXES[unit]
    assert said == {name: default for name, default in DEFAULTS.items() if name.startswith("limits.")}


def test_error_codes_are_those_of_the_code() -> None:
    source = "".join(path.read_text() for path in (REPOSITORY / "gateway").rglob("*.py"))
    [rows] = [table for table in tables(OPERATIONS) if "`code`" in table[0]]
    documented = {code for row in rows for code in codes(row["`code`"])}
    assert documented >= set(re.findall(r'\bcode="(\w+)"', source))
    assert [code for code in documented if f'"{code}"' not in source] == []


def test_reasons_and_states_are_those_of_the_code() -> None:
    [reasons] = [table for table in tables(README) if "reason" in table[0]]
    assert [codes(row["reason"])[0] for row in reasons] == [reason.value for reason in Reason]
    [states] = [table for table in tables(OPERATIONS) if "state" in table[0]]
    assert [codes(row["state"])[0] for row in states] == [state.value for state in State]


def test_the_log_line_that_is_shown_is_explained() -> None:
    [shown] = all_blocks("json")
    [rows] = [table for table in tables(OPERATIONS) if table[0].keys() == {"field", "meaning"}]
    assert [code for row in rows for code in codes(row["field"])] == list(json.loads(shown.text))


def test_each_policy_has_its_page() -> None:
    kinds = {
        kind for section in (ThresholdPolicy, AdaptivePolicy, PinnedPolicy) for kind in fields(section)["kind"].choices
    }
    assert POLICIES.keys() == kinds
    for kind, text in POLICIES.items():
        assert text.startswith(f"# Policy: {kind}\n")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
