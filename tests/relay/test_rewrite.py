"""The body for the engine: what has to change does, and nothing else."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.api.errors import ApiError
from gateway.relay.inspect import BodyError, inspect_json
from gateway.relay.rewrite import upstream_body
from tests.relay.bodies import chat, objects, written


@given(st.data(), st.booleans(), st.sampled_from([None, "m", "other", 'x"\\é']))
def test_against_a_full_decoding(data: st.DataObject, ask: bool, model: str | None) -> None:
    value: dict[str, Any] = data.draw(objects)
    value |= {"stream": True} if ask else {}
    body = data.draw(written(value))
    try:
        traits = inspect_json(body)
    except BodyError:
        return
    ask = ask and traits.may_ask_usage
    sent = upstream_body(body, traits, ask_usage=ask, model=model)
    expected = dict(value)
    if model is not None:
        expected["model"] = model
    if ask:
        expected["stream_options"] = {**(value.get("stream_options") or {}), "include_usage": True}
    assert json.loads(sent) == expected
    if not ask and model in (None, traits.model):
        assert sent is body


EXACT = b'{"a":1.0e+5 ,"model":"m", "b" : [ 1,\t{"x":"\\u00e9\\/"} ], "seed":123456789012345678901234567890}'


def test_other_values_keep_their_bytes() -> None:
    """Numbers are not rounded, escapes not resolved, whitespace within values not touched."""
    sent = upstream_body(EXACT, inspect_json(EXACT), ask_usage=True, model="k2")
    for value in (b"1.0e+5", b'[ 1,\t{"x":"\\u00e9\\/"} ]', b"123456789012345678901234567890"):
        assert value in sent
    assert json.loads(sent)["model"] == "k2"


def test_asking_for_usage_only_adds() -> None:
    body = EXACT[:-1] + b"\n}\r\n"
    sent = upstream_body(body, inspect_json(body), ask_usage=True, model=None)
    assert sent == EXACT[:-1] + b'\n,"stream_options":{"include_usage":true}}\r\n'


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_obfuscation": False}])
def test_options_that_are_there_are_extended(options: object) -> None:
    body = json.dumps({"model": "m", "stream": True, "stream_options": options}).encode()
    sent = json.loads(upstream_body(body, inspect_json(body), ask_usage=True, model="m"))
    assert sent["stream_options"] == {**(options if isinstance(options, dict) else {}), "include_usage": True}


def test_of_two_fields_of_a_name_the_last_counts() -> None:
    body = b'{"model":"a","x":1,"model":"b","x":2}'
    sent = upstream_body(body, inspect_json(body), ask_usage=False, model="c")
    assert json.loads(sent) == {"model": "c", "x": 2}


def test_a_name_that_is_not_text() -> None:
    """Invalid UTF-8 in a field's name is the engine's to judge."""
    body = b'{"model":"a","\xff":1}'
    traits = inspect_json(body)
    assert upstream_body(body, traits, ask_usage=False, model=None) == body
    assert upstream_body(body, traits, ask_usage=False, model="b") == b'{"model":"b","\xff":1}'


@pytest.mark.parametrize(
    "body",
    [
        b'{"x":{"model":"m"},"model" :\n"m","y":[{"model":"m"}]}',
        b'{"x":"\\"model\\":\\"m\\"","model":"m"}',
        b'{"\\"model":"m","model":"m","\\\\model":"m"}',
        b'{"model":"m","x":{"model":"m","model":"m"}}',
        b'{"model":"m","model":"m"}',
        b'{"x":"model","model":"m","y":"m"}',
    ],
)
def test_the_right_one_of_many_is_renamed(body: bytes) -> None:
    sent = upstream_body(body, inspect_json(body), ask_usage=False, model="[0]")
    assert json.loads(sent) == {**json.loads(body), "model": "[0]"}


@pytest.mark.parametrize("options", ["null", "{}", '{"include_usage":false}'])
def test_the_right_options_of_many_are_extended(options: str) -> None:
    nested = '"stream_options":' + options
    body = f'{{"x":{{{nested}}},"stream":true,"model":"m",{nested},"y":[{{{nested}}}]}}'.encode()
    sent = json.loads(upstream_body(body, inspect_json(body), ask_usage=True, model="k"))
    assert sent == {**json.loads(body), "model": "k", "stream_options": {"include_usage": True}}


@pytest.mark.parametrize("body", [b"{}", b" { }\n", b'{"a":1}'])
def test_a_model_that_was_not_named_is_added(body: bytes) -> None:
    sent = upstream_body(body, inspect_json(body), ask_usage=False, model="m")
    assert json.loads(sent) == {**json.loads(body), "model": "m"}


@pytest.mark.parametrize(
    "body", [b'{"m\\u006fdel":"m"}', b'{"x":[%b],"model":"m"}' % b",".join([b'{"model":"m"}'] * 2000)]
)
def test_a_body_that_hides_its_model_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        upstream_body(body, inspect_json(body), ask_usage=False, model="other")
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, "invalid_json", "model")


def test_a_million_members_are_not_objects_of_ours() -> None:
    """Memory tells: a dict of them takes 150 bytes and more for each, a rewrite a few copies of the body."""
    members = b",".join(b'"%07d":1' % number for number in range(1_000_000))
    body = b'{"model":"m","stream":true,%b}' % members
    tracemalloc.start()
    try:
        sent = upstream_body(body, inspect_json(body), ask_usage=True, model="other")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sent.startswith(b'{"model":"other"')
    assert peak < 5 * len(body)


def test_a_long_prompt() -> None:
    body = chat(250_000, stream=True)
    sent = upstream_body(body, inspect_json(body), ask_usage=True, model="other")
    assert json.loads(sent) == {**json.loads(body), "model": "other", "stream_options": {"include_usage": True}}
