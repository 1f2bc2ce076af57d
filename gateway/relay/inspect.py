"""What routing needs of a request's body, read without decoding the rest of it."""

import re
from typing import NamedTuple

import msgspec

from gateway.relay.multipart import FormError, read_fields
from gateway.routing import digest

_PREFIX_BYTES = 1024
_TRUE, _NULL = msgspec.Raw(b"true"), msgspec.Raw(b"null")


class Traits(NamedTuple):
    """`include_usage`: the client wants the usage event. `may_ask_usage`: we may ask for it on our own account.

    `cut_characters`: it holds halves of surrogate pairs. `affinity` is equal for requests of one conversation.
    """

    model: str | None
    stream: bool = False
    include_usage: bool = False
    may_ask_usage: bool = False
    has_stream_options: bool = False
    affinity: int = 0
    is_json: bool = False
    cut_characters: bool = False


class BodyError(Exception):
    """A body that can't be routed; `code` and `param` are those of the error object."""

    def __init__(self, message: str, code: str, param: str | None = None) -> None:
        """`message` says what to do."""
        super().__init__(message)
        self.code = code
        self.param = param


class _Envelope(msgspec.Struct):
    """An absent field is empty bytes."""

    model: msgspec.Raw = msgspec.Raw()
    stream: msgspec.Raw = msgspec.Raw()
    stream_options: msgspec.Raw = msgspec.Raw()
    messages: msgspec.Raw = msgspec.Raw()
    prompt: msgspec.Raw = msgspec.Raw()
    prompt_cache_key: msgspec.Raw = msgspec.Raw()


_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))

_decode = msgspec.json.Decoder(_Envelope).decode
_decode_options = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


def whole_characters(body: bytes) -> bytes:
    """`body` with U+FFFD for each escaped half of a surrogate pair that stands alone.

    JavaScript writes such halves where it has cut an emoji in two, and Python's json reads them; msgspec does not.
    """
    return _LONE_SURROGATE.sub(rb"\\ufffd", body)


def inspect_json(body: bytes) -> Traits:
    """Read the traits of a JSON body.

    Raises:
        BodyError: not JSON, not an object, or `model` is not a string.
    """
    try:
        try:
            envelope, cut = _decode(body), False
        except msgspec.DecodeError:
            if not _LONE_SURROGATE.search(body):
                raise
            envelope, cut = _decode(whole_characters(body)), True
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _body_error(body, error) from None
    name: str | None = None
    if envelope.model and envelope.model != _NULL:
        try:
            name = _decode_text(envelope.model)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise BodyError("'model' must be a string: the name of a model.", "invalid_type", "model") from None
    stream = envelope.stream == _TRUE
    options = envelope.stream_options
    include_usage, may_ask = (False, True) if not options or options == _NULL else _read_options(options)
    return Traits(
        name, stream, include_usage, may_ask, bool(options), _affinity(envelope), is_json=True, cut_characters=cut
    )


def inspect_multipart(content_type: bytes, body: bytes) -> Traits:
    """Read the `model` and `stream` fields of a multipart form, as audio uploads carry them.

    Raises:
        BodyError: not a well-formed form, or one with too many parts.
    """
    try:
        fields = read_fields(content_type, body, (b"model", b"stream"))
    except FormError as error:
        raise BodyError(str(error), error.code) from None
    try:
        model = fields.get(b"model", b"").decode() or None
    except UnicodeDecodeError:
        raise BodyError("The form's 'model' field is not UTF-8.", "invalid_type", "model") from None
    return Traits(model, stream=fields.get(b"stream", b"").strip().lower() in (b"true", b"1"))


def _read_options(options: msgspec.Raw) -> tuple[bool, bool]:
    """(the client asked for usage, we may ask for it). Options we don't know may depend on it: leave those alone."""
    try:
        fields = _decode_options(options)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False, False
    asked = fields.get("include_usage") == _TRUE
    return asked, not asked and set(fields) <= {"include_usage", "include_obfuscation"}


def _affinity(envelope: _Envelope) -> int:
    """A conversation is known by its cache key, else by its system and first user message, or how its prompt begins."""
    if envelope.prompt_cache_key and envelope.prompt_cache_key != _NULL:
        return digest(bytes(envelope.prompt_cache_key))
    if envelope.messages and envelope.messages != _NULL:
        beginning = bytes(memoryview(envelope.messages)[:_PREFIX_BYTES])
        end = beginning.find(b"}")
        if beginning.find(b'"system"', 0, end) >= 0 or beginning.find(b'"developer"', 0, end) >= 0:
            end = beginning.find(b"}", end + 1)
        return digest(beginning[:end] if end >= 0 else beginning)
    if envelope.prompt and envelope.prompt != _NULL:
        return digest(bytes(memoryview(envelope.prompt)[:_PREFIX_BYTES]))
    return 0


def _body_error(body: bytes, error: Exception) -> BodyError:
    if isinstance(error, msgspec.ValidationError):
        return BodyError("The body must be a JSON object.", "invalid_type")
    if not body.strip():
        return BodyError("The body is empty: send a JSON object with 'model' and the request's fields.", "empty_body")
    return BodyError(f"The body is not valid JSON: {error}.", "invalid_json")
