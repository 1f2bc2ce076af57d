"""Levels, arms, mixes and prompts as they are asked for."""

import itertools
import random
from typing import Any

import pytest

from loadtest.client import BadTargetError, parse_target
from loadtest.prompts import DEFAULT_MIX, KINDS, BadMixError, library, long_prompt, parse_mix
from loadtest.prompts.library import CHARACTERS_PER_TOKEN
from loadtest.sweep import (
    Arm,
    BadArmError,
    BadPlanError,
    Plan,
    default_arms,
    neighbourhood,
    parse_arm,
    parse_levels,
)


def test_levels() -> None:
    assert parse_levels("5,1,2,2") == (1, 2, 5)
    assert neighbourhood(5) == (4, 5, 6, 10)
    assert neighbourhood(1) == (1, 2)
    with pytest.raises(BadPlanError, match="like 1,2,5,10"):
        parse_levels("1;2")


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("spillway", Arm("spillway")),
        ("always=pool:baseline", Arm("always", pool="baseline")),
        ("routed=model:k2", Arm("routed", model="k2")),
        ("direct=http://10.0.0.1:30000", Arm("direct", url="http://10.0.0.1:30000")),
    ],
)
def test_arms(text: str, arm: Arm) -> None:
    assert parse_arm(text) == arm


@pytest.mark.parametrize("text", ["", "=pool:x", "a=pool:", "a=x", "a=ftp://x", " a"])
def test_bad_arms(text: str) -> None:
    with pytest.raises(BadArmError):
        parse_arm(text)


def test_arms_take_turns_at_each_level() -> None:
    plan = Plan(default_arms(), (1, 2), repeats=3)
    cells = list(plan.cells())
    assert len(cells) == plan.size == 18
    places = [cells[at : at + 3] for at in range(0, 18, 3)]
    assert all(len({(repeat, level) for repeat, level, _ in some}) == 1 for some in places)
    assert all({arm.name for _, _, arm in some} == {"speculative", "baseline", "spillway"} for some in places)
    assert {some[0][2].name for some in places} == {"speculative", "baseline", "spillway"}


def test_every_client_has_something_to_do() -> None:
    plan = Plan(default_arms(), (1, 250), requests=30)
    assert [plan.count(level) for level in plan.levels] == [30, 500]


@pytest.mark.parametrize(
    "wrong", [{"levels": ()}, {"levels": (0,)}, {"arms": ()}, {"arms": (Arm("a"), Arm("a"))}, {"repeats": 0}]
)
def test_bad_plans(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadPlanError):
        Plan(**({"arms": default_arms(), "levels": (1,)} | wrong))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h", "http://h"),
        ("http://h:8080/v1/", "http://h:8080"),
        ("https://h:443/a/v1", "https://h/a"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_targets(url: str, shown: str) -> None:
    assert parse_target(url).url == shown


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://h", "http://", "http://h?x=1", "http://u@h", "http://h:x"])
def test_bad_targets(url: str) -> None:
    with pytest.raises(BadTargetError):
        parse_target(url)


def test_mixes() -> None:
    assert str(parse_mix("edit=0.6, prose=0.4")) == "edit=0.6,prose=0.4"
    drawn = list(itertools.islice(parse_mix("edit=3,prose").draw("s"), 2000))
    assert sum(prompt.kind == "edit" for prompt in drawn) == pytest.approx(1500, abs=100)
    assert drawn == list(itertools.islice(parse_mix("edit=3,prose").draw("s"), 2000))
    assert set(DEFAULT_MIX.weights) == set(KINDS)
    whole = library("edit")
    drawn = list(itertools.islice(parse_mix("edit").draw("s"), 3 * len(whole)))
    assert all(set(drawn[at : at + len(whole)]) == set(whole) for at in range(0, len(drawn), len(whole)))


@pytest.mark.parametrize("text", ["poems", "edit=x", "edit=0", "edit=-1", ""])
def test_bad_mixes(text: str) -> None:
    with pytest.raises(BadMixError):
        parse_mix(text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_prompts_of_its_own(kind: str) -> None:
    texts = [prompt.text for prompt in library(kind)]
    assert len(texts) == len(set(texts)) >= 8


@pytest.mark.parametrize("tokens", [500, 4000, 32000])
def test_long_prompts_are_as_long_as_asked(tokens: int) -> None:
    prompt = long_prompt(random.Random(1), tokens)
    assert len(prompt.text) / CHARACTERS_PER_TOKEN == pytest.approx(tokens, rel=0.5 if tokens < 1000 else 0.1)
    assert prompt.code in prompt.text
