"""What is read of a form: its model and stream fields, whatever else it holds."""

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay.inspect import BodyError, inspect_multipart
from gateway.relay.rewrite import upstream_form

TYPE = b"multipart/form-data; boundary=xyz"


def part(name: str, value: bytes, filename: str | None = None, extra: bytes = b"") -> bytes:
    disposition = f'form-data; name="{name}"' + (f'; filename="{filename}"' if filename else "")
    return b"--xyz\r\nContent-Disposition: " + disposition.encode() + b"\r\n" + extra + b"\r\n" + value + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--xyz--\r\n"


AUDIO = part("file", b"\x00\xff\r\n--xy\r\n" * 1000, "a.wav", b"Content-Type: audio/wav\r\n")


@pytest.mark.parametrize(
    ("body", "model", "stream"),
    [
        (form(AUDIO, part("model", b"whisper")), "whisper", False),
        (form(part("model", b"whisper"), part("stream", b"true"), AUDIO), "whisper", True),
        (form(part("stream", b" True "), part("model", "café".encode())), "café", True),
        (form(part("stream", b"1")), None, True),
        (form(part("stream", b"false"), part("model", b"")), None, False),
        (form(AUDIO), None, False),
        (form(part("model", b"a"), part("model", b"b")), "b", False),
        (form(part("model", b"evil", "model.txt"), part("model", b"m")), "m", False),
        (form(part("x", b'name="model"\r\n\r\nevil'), part("model", b"m")), "m", False),
        (form(part("model", b"m", extra=b"Content-Type: text/plain\r\nX-Y: z\r\n")), "m", False),
        (form(part("model", b"m")) + b"epilogue", "m", False),
        (form(part("model", b"m")).replace(b"Content-Disposition", b"content-disposition"), "m", False),
        (b"--xyz--\r\n", None, False),
    ],
)
def test_fields(body: bytes, model: str | None, stream: bool) -> None:
    traits = inspect_multipart(TYPE, body)
    assert (traits.model, traits.stream, traits.is_json) == (model, stream, False)


@pytest.mark.parametrize("content_type", [b'multipart/form-data; boundary="xyz"', b"Multipart/Form-Data;BOUNDARY=xyz"])
def test_ways_to_name_the_boundary(content_type: bytes) -> None:
    assert inspect_multipart(content_type, form(part("model", b"m"))).model == "m"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (b"multipart/form-data", form(part("model", b"m"))),
        (b"multipart/form-data; boundary=", form(part("model", b"m"))),
        (TYPE, b"not a form"),
        (TYPE, b"preamble\r\n" + form(part("model", b"m"))),
        (TYPE, b"--xyz\r\nContent-Disposition\r\n\r\nx\r\n--xyz--\r\n"),
        (TYPE, form(part("model", b"\xff\xfe"))),
        (TYPE, part("model", b"m")),
        (TYPE, form(part("model", b"m", extra=b"X: y\r\n" * 40))),
        (TYPE, form(part("model", b"m", extra=b"X: " + b"y" * 10_000 + b"\r\n"))),
        (TYPE, form(part("file", b"", "n" * 2000))),
        (TYPE, form(*[part("model", b"m", extra=b"X: " + b"y" * 1000 + b"\r\n")] * 90)),
        (TYPE, form(part("file", b"\r\n--xyza" * 2000, "a.wav"))),
        (b"multipart/form-data; boundary=" + b"x" * 1000, form(part("model", b"m"))),
    ],
)
def test_refused(content_type: bytes, body: bytes) -> None:
    with pytest.raises(BodyError) as refused:
        inspect_multipart(content_type, body)
    assert refused.value.code in ("invalid_multipart", "invalid_type")


def test_a_huge_field_is_not_collected() -> None:
    """Something is taken for the name, and no model has it."""
    traits = inspect_multipart(TYPE, form(part("model", b"m" * 10_000_000)))
    assert traits.model is not None
    assert traits.model.startswith("mmmm")


def test_parts_are_counted() -> None:
    assert inspect_multipart(TYPE, form(*[part("x", b"")] * 99, part("model", b"m"))).model == "m"
    with pytest.raises(BodyError) as refused:
        inspect_multipart(TYPE, form(*[part("x", b"")] * 100, part("model", b"m")))
    assert refused.value.code == "too_many_parts"


MEBIBYTES = 16
WEAR = {
    "tiny parts": b"x\r\n--xyz\r\nA:b\r\n\r\n",
    "line ends": b"\r\n",
    "carriage returns": b"\r",
    "dashes": b"-",
    "beginnings of boundaries": b"\r\n--xy",
    "all but boundaries": b"\r\n--xyza",
    "boundaries with half an end": b"\r\n--xyz-\r",
    "headers": b"A:b\r\n",
}


@pytest.mark.parametrize("name", WEAR)
@pytest.mark.parametrize("where", ["data", "header"])
def test_the_work_is_bounded(name: str, where: str) -> None:
    """Whatever fills it, Python does not step through it: a few thousand calls, where a parser makes millions."""
    start = b"" if where == "header" else b"Content-Disposition: form-data; name=file; filename=a\r\n\r\n"
    filling = WEAR[name] * ((MEBIBYTES << 20) // len(WEAR[name]))
    body = b"--xyz\r\n" + start + filling + form(part("model", b"m"))
    calls = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        inspect_multipart(TYPE, body)
    except BodyError:
        pass
    finally:
        sys.setprofile(None)
    assert calls < 20_000


@given(st.binary(max_size=200), st.binary(max_size=30))
def test_nonsense_is_refused_and_nothing_worse(body: bytes, options: bytes) -> None:
    for content_type in (TYPE, b"multipart/form-data;" + options):
        for sent in (body, form(part("model", b"m"))[: len(body)] + body):
            try:
                inspect_multipart(content_type, sent)
            except BodyError:
                continue


REAL = part("model", "real-é".encode())
FIRST, SECOND = part("file", b"--xyz? \r\n\r\n", "model.wav"), part("stream", b"true")


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ([FIRST, part("model", b"alias"), SECOND], [FIRST, REAL, SECOND]),
        ([part("model", b"other"), FIRST, part("model", b"alias")], [REAL, FIRST, REAL]),
        ([FIRST], [FIRST]),
        ([part("model", b""), FIRST], [part("model", b""), FIRST]),
        ([part("model", b"alias", "model.txt")], [part("model", b"alias", "model.txt")]),
    ],
)
def test_the_engines_name_takes_the_place_of_the_clients(sent: list[bytes], got: list[bytes]) -> None:
    body = form(*sent) + b"epilogue"
    traits = inspect_multipart(TYPE, body)
    assert upstream_form(body, traits, "real-é") == form(*got) + b"epilogue"
    assert upstream_form(body, traits, traits.model or "x") is body


@given(st.lists(st.tuples(st.sampled_from(["model", "stream", "x"]), st.binary(max_size=20)), max_size=5))
def test_a_form_with_another_name_says_all_else_as_before(fields: list[tuple[str, bytes]]) -> None:
    body = form(*(part(name, value) for name, value in fields))
    try:
        traits = inspect_multipart(TYPE, body)
    except BodyError:
        return
    renamed = upstream_form(body, traits, "new")
    expected = [(name, b"new" if name == "model" and traits.model is not None else value) for name, value in fields]
    assert renamed == form(*(part(name, value) for name, value in expected))
