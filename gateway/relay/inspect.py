"""What routing needs of a request's body, read without decoding the rest of it."""

import re
from typing import NamedTuple

import msgspec

from gateway.relay.multipart import FormError, find_fields
from gateway.routing import digest

_PREFIX_BYTES = 1024
_FIELD_BYTES = 4 << 10
_TRUE, _NULL = msgspec.Raw(b"true"), msgspec.Raw(b"null")


class Traits(NamedTuple):
    """`include_usage`: the client wants the usage event. `may_ask_usage`: we may ask for it on our own account.

    `affinity` is equal for requests of one conversation. `mended`: the body without the halves of surrogate pairs that
    it holds. The raw values are bytes of `mended`, or else of the body; empty: absent. `form_models`: where a form has
    the model's name.
    """

    model: str | None
    stream: bool = False
    include_usage: bool = False
    may_ask_usage: bool = False
    affinity: int = 0
    is_json: bool = False
    raw_model: bytes = b""
    raw_stream_options: bytes = b""
    mended: bytes | None = None
    form_models: tuple[slice, ...] = ()


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


# Both alternatives begin alike, so that a search skips what can't match.
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!%b)|[c-fC-F][0-9a-fA-F]{2}(?<!%b%b))" % (_LOW, _HIGH, _LOW)
)
# To mend a body takes up to 50 ms a MiB, which nothing else gets.
_MENDABLE_BYTES = 4 << 20
_OPTIONS_BYTES = 4 << 10

_decode = msgspec.json.Decoder(_Envelope).decode
_decode_options = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


class Members(NamedTuple):
    """The members of an object that a rewrite may change, as raw JSON; empty: absent."""

    model: bytes
    stream_options: bytes


def raw_members(body: bytes) -> Members:
    """The last member of each name.

    Raises:
        msgspec.DecodeError: not JSON, or not an object.
    """
    envelope = _decode(body)
    return Members(bytes(envelope.model), bytes(envelope.stream_options))


def inspect_json(body: bytes) -> Traits:
    """Read the traits of a JSON body.

    Raises:
        BodyError: not JSON, not an object, or `model` is not a string.
    """
    mended: bytes | None = None
    try:
        try:
            envelope = _decode(body)
        except msgspec.DecodeError:
            mended = _mend(body)
            if mended is None:
                raise
            envelope = _decode(mended)
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
        name,
        stream,
        include_usage,
        may_ask,
        _affinity(envelope),
        is_json=True,
        raw_model=bytes(envelope.model),
        raw_stream_options=bytes(options),
        mended=mended,
    )


def inspect_multipart(content_type: bytes, body: bytes) -> Traits:
    """Read the `model` and `stream` fields of a multipart form, as audio uploads carry them; of two the last counts.

    Raises:
        BodyError: not a well-formed form, or one with too many parts.
    """
    try:
        fields = find_fields(content_type, body, (b"model", b"stream"))
    except FormError as error:
        raise BodyError(str(error), error.code) from None
    try:
        model = _last(body, models := fields.get(b"model", [])).decode() or None
    except UnicodeDecodeError:
        raise BodyError("The form's 'model' field is not UTF-8.", "invalid_type", "model") from None
    stream = _last(body, fields.get(b"stream", [])).strip().lower() in (b"true", b"1")
    return Traits(model, stream, form_models=tuple(models))


def _last(body: bytes, values: list[slice]) -> bytes:
    return body[values[-1]][:_FIELD_BYTES] if values else b""


def _mend(body: bytes) -> bytes | None:
    """`body` with U+FFFD for each escaped half of a surrogate pair that stands alone; None if it is not that.

    JavaScript writes such halves where it has cut an emoji in two, and Python's json reads them; msgspec does not.
    """
    if len(body) > _MENDABLE_BYTES:
        return None
    mended, count = _LONE_SURROGATE.subn(rb"\\ufffd", body)
    return mended if count else None


def _read_options(options: msgspec.Raw) -> tuple[bool, bool]:
    """(the client asked for usage, we may ask for it). Options we don't know may depend on it: leave those alone."""
    if len(options) > _OPTIONS_BYTES:
        return False, False
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
    reason = str(error).removeprefix("JSON is malformed: ")
    return BodyError(f"The body is not valid JSON: {reason}.", "invalid_json")
