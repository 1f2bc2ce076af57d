"""What is read of a JSON body: the same as a full decoding says, without one."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay.inspect import BodyError, inspect_json
from gateway.relay.rewrite import upstream_body
from tests.relay.bodies import chat, objects, written


@given(st.data())
def test_against_a_full_decoding(data: st.DataObject) -> None:
    value = data.draw(objects)
    body = data.draw(written(value))
    name = value.get("model")
    if name is not None and not isinstance(name, str):
        with pytest.raises(BodyError) as refused:
            inspect_json(body)
        assert (refused.value.code, refused.value.param) == ("invalid_type", "model")
        return
    traits = inspect_json(body)
    asked, may_ask = False, True
    given_options = value.get("stream_options")
    if isinstance(given_options, dict):
        asked = given_options.get("include_usage") is True
        may_ask = not asked and set(given_options) <= {"include_usage", "include_obfuscation"}
    elif given_options is not None:
        may_ask = False
    assert traits.is_json
    assert traits.model == name
    assert traits.stream is (value.get("stream") is True)
    assert bool(traits.raw_stream_options) == ("stream_options" in value)
    assert (traits.include_usage, traits.may_ask_usage) == (asked, may_ask)


@pytest.mark.parametrize(
    ("body", "name", "stream"),
    [
        (b"{}", None, False),
        (b'{"model": null}', None, False),
        (b'{"model": ""}', "", False),
        (b'{"model": "a", "model": "b"}', "b", False),
        (b'{"model": "a", "m\\u006fdel": "b"}', "b", False),
        (b'{"stream": true, "stream": false, "model": "\\u00e9\\"\\\\"}', 'é"\\', False),
        (b'{"messages": [{"model": "x", "stream": true}], "model": "m"}', "m", False),
        (b'{"x": "\\"model\\": \\"evil\\"", "model": "m", "stream": true}', "m", True),
        (b'{"stream": "true", "model": "m"}', "m", False),
        (b'{"stream": 1, "model": "m"}', "m", False),
        (b'{"model":"m","x":"\xff\xfe"}', "m", False),
    ],
)
def test_odd_ones(body: bytes, name: str | None, stream: bool) -> None:
    traits = inspect_json(body)
    assert (traits.model, traits.stream) == (name, stream)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b" \n", "empty_body"),
        (b"[]", "invalid_type"),
        (b'"model"', "invalid_type"),
        (b"null", "invalid_type"),
        (b"7", "invalid_type"),
        (b"{", "invalid_json"),
        (b'{"model": "m"', "invalid_json"),
        (b'{"model": "m",}', "invalid_json"),
        (b'{"model": "m"} {}', "invalid_json"),
        (b"{'model': 'm'}", "invalid_json"),
        (b'{"model": m}', "invalid_json"),
        (b'{"x": 01}', "invalid_json"),
        (b"\xef\xbb\xbf{}", "invalid_json"),
        (b"model=m&stream=true", "invalid_json"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "invalid_json"),
        (b'{"model": 7}', "invalid_type"),
        (b'{"model": ["m"]}', "invalid_type"),
        (b'{"model": {"name": "m"}}', "invalid_type"),
        (b'{"model": true}', "invalid_type"),
        (b'{"model": "\xff"}', "invalid_type"),
    ],
)
def test_refused(body: bytes, code: str) -> None:
    with pytest.raises(BodyError) as refused:
        inspect_json(body)
    assert refused.value.code == code
    assert str(refused.value)


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_nonsense_is_refused_and_nothing_worse(body: bytes) -> None:
    try:
        traits = inspect_json(body)
    except BodyError:
        return
    assert isinstance(json.loads(body), dict)
    assert traits.is_json


@pytest.mark.parametrize("stream", [True, False])
def test_a_long_prompt(stream: bool) -> None:
    """250 KB: read right, and in a few hundred microseconds."""
    body = chat(250_000, stream=stream)
    assert len(body) > 250_000
    times = []
    for _ in range(15):
        began = time.perf_counter()
        traits = inspect_json(body)
        times.append(time.perf_counter() - began)
        assert (traits.model, traits.stream) == ("m", stream)
    assert min(times) < 0.0005


SYSTEM = {"role": "system", "content": "You are {brief}."}
USER = {"role": "user", "content": "Hello"}


def affinity(**fields: object) -> int:
    return inspect_json(json.dumps({"model": "m", **fields}).encode()).affinity


def test_a_conversation_keeps_its_affinity() -> None:
    """As it grows, and whatever else changes."""
    for start in ([USER], [SYSTEM, USER]):
        first = affinity(messages=start)
        answer = {"role": "assistant", "content": "Hi"}
        assert affinity(messages=[*start, answer, {"role": "user", "content": "And?"}]) == first
        assert affinity(temperature=0.5, messages=start, stream=True) == first


def test_other_conversations_have_other_affinities() -> None:
    seen = [
        affinity(messages=[USER]),
        affinity(messages=[{**USER, "content": "Hullo"}]),
        affinity(messages=[SYSTEM, USER]),
        affinity(prompt="Hello"),
        affinity(prompt="Hullo"),
        affinity(prompt_cache_key="a", messages=[USER]),
        affinity(prompt_cache_key="b", messages=[USER]),
    ]
    assert len(set(seen)) == len(seen)


def test_a_cache_key_decides() -> None:
    assert affinity(prompt_cache_key="a", messages=[USER]) == affinity(prompt_cache_key="a", messages=[SYSTEM])


@pytest.mark.parametrize("field", ["prompt_cache_key", "messages", "prompt"])
def test_null_is_as_good_as_absent(field: str) -> None:
    """Clients write out what they leave unset; it must not send all of them to one replica."""
    assert affinity(**{field: None}) == affinity() == 0
    assert affinity(prompt_cache_key=None, messages=[USER]) == affinity(messages=[USER])


@pytest.mark.parametrize("half", [rb"\ud83d", rb"\uDE00", rb"\ud83d\ud83d", rb"\ude00\ud83d x"])
def test_half_an_emoji_is_passed_on_as_it_came(half: bytes) -> None:
    body = rb'{"model":"m","stream":true,"prompt":"%b and a whole \ud83d\ude00"}' % half
    traits = inspect_json(body)
    assert (traits.model, traits.stream) == ("m", True)
    assert half in upstream_body(body, traits, ask_usage=True, model="m")
    renamed = json.loads(upstream_body(body, traits, ask_usage=False, model="other"))
    assert renamed["model"] == "other"
    assert renamed["prompt"].endswith("and a whole \U0001f600")


def test_half_an_emoji_in_a_giant_body_is_refused() -> None:
    """To mend it would hold up everyone else."""
    half = rb'{"model":"m","prompt":"\ud83d%b"}'
    assert inspect_json(half % (b"x" * 1_000_000)).model == "m"
    with pytest.raises(BodyError) as refused:
        inspect_json(half % (b"x" * 5_000_000))
    assert refused.value.code == "invalid_json"


def test_giant_options_are_left_alone() -> None:
    options = b",".join(b'"%d":1' % number for number in range(10_000))
    traits = inspect_json(b'{"model":"m","stream":true,"stream_options":{%b}}' % options)
    assert (traits.include_usage, traits.may_ask_usage) == (False, False)
