"""JSON bodies: those clients send, and any other object written in any way."""

import json
from typing import Any

from hypothesis import strategies as st

texts = st.text(st.characters(codec="utf-8"), max_size=10)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
options = st.dictionaries(
    st.sampled_from(["include_usage", "include_obfuscation", "continuous_usage_stats", "x"]), st.booleans() | st.none()
)
known = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["m", "café", 'a"b']) | st.none() | values,
        "stream": st.booleans() | st.none() | values,
        "stream_options": options | st.none() | values,
        "messages": st.lists(st.fixed_dictionaries({"role": texts, "content": texts}), max_size=3),
        "prompt": texts,
        "temperature": st.floats(0, 2),
    },
)
objects = st.builds(lambda first, second: {**first, **second}, known, st.dictionaries(texts, values, max_size=3))


@st.composite
def written(draw: st.DrawFn, value: Any) -> bytes:
    """The value as one of the ways in which JSON is written."""
    separators = draw(st.sampled_from([None, (",", ":"), (" ,\n", " : ")]))
    text = json.dumps(
        value, ensure_ascii=draw(st.booleans()), indent=draw(st.none() | st.just(2)), separators=separators
    )
    return draw(st.sampled_from(["", " ", "\r\n\t"])).encode() + text.encode() + draw(st.sampled_from([b"", b"\n "]))


def chat(size: int, **fields: Any) -> bytes:
    """A chat request with about so many bytes of text in every script."""
    line = 'Élan "que?"\\n\t{mots} [et] 日本語 😀 "model": "evil", "stream": true, '
    content = (line * (size // len(line.encode()) + 1))[:size]
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": content}]
    return json.dumps({"messages": messages, "model": "m", **fields}, ensure_ascii=False).encode()
