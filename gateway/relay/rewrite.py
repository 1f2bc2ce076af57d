"""The body as the engine gets it: the client's bytes, with the model's own name and the usage event asked for."""

import msgspec

from gateway.api.errors import ApiError
from gateway.relay.inspect import Traits, whole_characters

_ASK = b'"stream_options":{"include_usage":true}'
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def upstream_body(body: bytes, traits: Traits, *, ask_usage: bool, model: str | None) -> bytes:
    """Return `body` asking for usage and naming `model` (None: as the client did). Other values stay as they are.

    Raises:
        ApiError: 400 where a field's name is not UTF-8, which routing did not look at.
    """
    if model is None or model == traits.model:
        if not ask_usage:
            return body
        if not traits.has_stream_options:
            end = body.rindex(b"}")
            return b"".join((body[:end], b",", _ASK, body[end:]))
    try:
        fields = _decode(whole_characters(body) if traits.cut_characters else body)
    except msgspec.DecodeError as error:
        raise ApiError(400, f"The body is not valid JSON: {error}.", code="invalid_json") from None
    if model is not None:
        fields["model"] = msgspec.Raw(msgspec.json.encode(model))
    if ask_usage:
        options = fields.get("stream_options")
        known = _decode(options) if options and options != msgspec.Raw(b"null") else {}
        fields["stream_options"] = msgspec.Raw(msgspec.json.encode({**known, "include_usage": True}))
    return msgspec.json.encode(fields)
