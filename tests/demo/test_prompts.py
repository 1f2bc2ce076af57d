"""The demo's prompts."""

from gateway.demo.prompts import DISTINCT, prompts


def test_every_prompt_differs_until_they_come_again() -> None:
    asked = prompts(DISTINCT + 3)
    assert len(set(asked)) == DISTINCT
    assert asked[DISTINCT:] == asked[:3]
