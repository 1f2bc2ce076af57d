"""Token counts as engines tell them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay.usage import read_tokens

COUNTS = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


@pytest.mark.parametrize(
    ("tail", "counts"),
    [
        (json.dumps({"usage": COUNTS}), (7, 3)),
        (json.dumps({"usage": COUNTS}, separators=(",", ":")), (7, 3)),
        (json.dumps({"usage": COUNTS}, indent=2), (7, 3)),
        (json.dumps({"meta_info": {"completion_tokens": 3, "prompt_tokens": 7, "id": "x"}}), (7, 3)),
        (json.dumps({"usage": {"input_tokens": 7, "output_tokens": 3}}), (7, 3)),
        (json.dumps({"usage": {"prompt_tokens": 7, "total_tokens": 7}}), (7, None)),
        (json.dumps({"usage": {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 6}}}), (7, None)),
        (json.dumps({"usage": {"prompt_tokens": None, "completion_tokens": None}}), (None, None)),
        (json.dumps([{"usage": {**COUNTS, "completion_tokens": 1}}, {"usage": COUNTS}]), (7, 3)),
        (json.dumps({"choices": [{"text": '"prompt_tokens": 99'}], "usage": COUNTS}), (7, 3)),
        (json.dumps({"usage": COUNTS, "text": '"prompt_tokens": 99, "completion_tokens": 98'}), (7, 3)),
        ('_tokens": 7, "completion_tokens": 3}}', (None, 3)),
        (json.dumps({"usage": {"prompt_tokens": 99_999_999, "completion_tokens": 100_000_000}}), (99_999_999, None)),
        ('{"prompt_tokens": 7, "completion_tokens": %s}' % ("9" * 300), (7, None)),
        ('{"prompt_tokens": 1e400, "completion_tokens": 3.7e2}', (None, None)),
        ('{"prompt_tokens": -7, "completion_tokens": 3x}', (None, None)),
        ('{"prompt_tokens": 7 , "completion_tokens": 3\n}', (7, 3)),
        ('"completion_tokens": 3', (None, None)),
        ("", (None, None)),
    ],
)
def test_counts(tail: str, counts: tuple[int | None, int | None]) -> None:
    assert read_tokens(tail.encode()) == counts


@given(st.text(max_size=60), st.text(max_size=60), st.integers(0, 10**8 - 1), st.integers(0, 10**8 - 1))
def test_text_is_not_taken_for_counts(before: str, after: str, prompt: int, completion: int) -> None:
    """Whatever was generated, before the counts or after them."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    for ascii_only in (True, False):
        body = json.dumps({"choices": [{"text": before}], "usage": usage, "z": [after]}, ensure_ascii=ascii_only)
        assert read_tokens(body.encode()) == (prompt, completion)


@given(st.binary(max_size=100))
def test_any_bytes_will_do(tail: bytes) -> None:
    read_tokens(tail)
