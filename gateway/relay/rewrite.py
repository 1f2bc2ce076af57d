"""The body as the engine gets it: the client's bytes, with the model's own name and the usage event asked for."""

import re

import msgspec

from gateway.api.errors import ApiError
from gateway.relay.inspect import Traits, raw_members

_ASK = b'"stream_options":{"include_usage":true}'
_EMPTY = re.compile(rb"\s*\{\s*\}")
_MAX_LOOKALIKES = 1000
_decode_options = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def upstream_body(body: bytes, traits: Traits, *, ask_usage: bool, model: str | None) -> bytes:
    """Return `body` asking for usage and naming `model` (None: as the client did). Everything else stays as it is.

    Raises:
        ApiError: 400 where the place to change can't be told from others.
    """
    if model is not None and model != traits.model:
        name = msgspec.json.encode(model)
        sound = body if traits.mended is None else traits.mended
        if traits.raw_model:
            body = _replace(sound, "model", traits.raw_model, name)
        else:
            body = _append(sound, b'"model":' + name)
    elif ask_usage and traits.raw_stream_options and traits.mended is not None:
        body = traits.mended
    if ask_usage and traits.raw_stream_options:
        options = traits.raw_stream_options
        known = _decode_options(options) if options != b"null" else {}
        extended = msgspec.json.encode({**known, "include_usage": True})
        body = _replace(body, "stream_options", options, extended)
    elif ask_usage:
        body = _append(body, _ASK)
    return body


def upstream_form(body: bytes, traits: Traits, model: str) -> bytes:
    """Return the form with `model` in each field that names the model. Its parts have no lengths that would change.

    A model's name holds no line end, so that it can hold no boundary.
    """
    if traits.model is None or model == traits.model:
        return body
    pieces: list[bytes] = []
    past = 0
    for place in traits.form_models:
        pieces += (body[past : place.start], model.encode())
        past = place.stop
    return b"".join((*pieces, body[past:]))


def _append(body: bytes, member: bytes) -> bytes:
    end = body.rindex(b"}")
    return b"".join((body[:end], b"" if _EMPTY.match(body) else b",", member, body[end:]))


def _replace(body: bytes, field: str, value: bytes, replacement: bytes) -> bytes:
    """Put `replacement` where the object has `value` for `field`.

    Objects within may have that too. So each such place gets its number, and decoding tells which one was meant: that
    takes one pass however many members there are, where a dict of them takes seconds for a hostile body.
    """
    places = re.compile(rb'"%b"\s*+:\s*+(%b)' % (field.encode(), re.escape(value)))
    spans: list[tuple[int, int]] = []
    pieces: list[bytes] = []
    past = 0
    for place in places.finditer(body):
        start, end = place.span(1)
        # No value that is replaced is an array.
        pieces += (body[past:start], b"[%d]" % len(spans))
        spans.append((start, end))
        past = end
        if len(spans) > _MAX_LOOKALIKES:
            raise _ambiguous(field)
    pieces.append(body[past:])
    members = raw_members(b"".join(pieces))
    found = members.model if field == "model" else members.stream_options
    if not found.startswith(b"["):
        raise _ambiguous(field)
    start, end = spans[int(found[1:-1])]
    return b"".join((body[:start], replacement, body[end:]))


def _ambiguous(field: str) -> ApiError:
    return ApiError(
        400,
        f"'{field}' can't be told from other fields of that name: write it without escapes, before the others.",
        code="invalid_json",
        param=field,
    )
