"""Responses as engines send them, cut at every position; and what is no response."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gateway.relay.engine import EngineError
from tests.relay.wiretap import Taken, Wire, bytewise
from tests.support.wire import chunk


@dataclass
class Case:
    """`ends`: the engine closes after it. `reusable`: the connection may carry another request."""

    name: str
    sent: bytes
    status: int
    body: bytes = b""
    ends: bool = False
    reusable: bool = True


EVENTS = b'data: {"a": 1}\n\n: ping\r\n\r\ndata: \xf0\x9f\x98\x80\n\n'
OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
CASES = [
    Case("length", OK + b"Content-Length: 5\r\n\r\nhello", 200, b"hello"),
    Case("no bytes", OK + b"Content-Length: 0\r\n\r\n", 200),
    Case("chunked", OK + CHUNKED + chunk(EVENTS[:9]) + chunk(EVENTS[9:]) + b"0\r\n\r\n", 200, EVENTS),
    Case("chunked, nothing", OK + CHUNKED + b"0\r\n\r\n", 200),
    Case("extensions, trailers", OK + CHUNKED + b"5;x=y\r\nhello\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n", 200, b"hello"),
    Case("until the end", OK + b"Content-Type: text/plain\r\n\r\n" + EVENTS, 200, EVENTS, ends=True, reusable=False),
    Case("until the end, nothing", OK + b"\r\n", 200, ends=True, reusable=False),
    Case("continue first", b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi", 200, b"hi"),
    Case("hints first", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 2 + OK + CHUNKED + b"0\r\n\r\n", 200),
    Case("no content", b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", 204),
    Case("not modified", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 304),
    Case("no reason", b"HTTP/1.1 503 \r\nContent-Length: 2\r\n\r\nno", 503, b"no"),
    Case("close", OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi", reusable=False),
    Case("1.0", b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi", reusable=False),
    Case("1.0, kept", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi"),
    Case("1.0 until the end", b"HTTP/1.0 200 OK\r\n\r\nhi", 200, b"hi", ends=True, reusable=False),
]
cases = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def pieces(data: bytes) -> Iterator[list[bytes]]:
    """Whole, cut in two at every position, and byte by byte."""
    yield [data]
    yield bytewise(data)
    for at in range(1, len(data)):
        yield [data[:at], data[at:]]


def play(case: Case, cut: list[bytes]) -> tuple[Wire, Taken]:
    wire = Wire()
    taken = wire.request()
    wire.sends(*cut)
    if case.ends:
        wire.ends()
    return wire, taken


@cases
def test_a_response_cut_anywhere(case: Case) -> None:
    for cut in pieces(case.sent):
        wire, taken = play(case, cut)
        assert (taken.status, taken.body, taken.error) == (case.status, case.body, None)
        assert taken.ended
        assert wire.owner.finished_as == [case.reusable]
        assert wire.closed != case.reusable


@cases
def test_a_response_broken_off_anywhere(case: Case) -> None:
    """Whatever arrived of the body was taken, and the end is an error unless it is what ends the body."""
    head = case.sent.index(b"\r\n\r\n", case.sent.index(b" %d " % case.status)) + 4
    for at in range(len(case.sent)):
        for reset in (False, True):
            wire = Wire()
            taken = wire.request()
            wire.sends(*([case.sent[:at]] if at else []))
            if taken.over:
                continue  # the head of a response without a body was enough
            if reset:
                wire.resets()
            else:
                wire.ends()
            assert wire.owner.losses == 1
            assert case.body.startswith(taken.body)
            if case.ends and at >= head and not reset:
                assert taken.ended
                continue
            assert taken.error is not None
            assert taken.error.answered == (at > 0)


@cases
def test_a_kept_connection_carries_the_next_response(case: Case) -> None:
    if not case.reusable:
        return
    wire = Wire()
    for _ in range(3):
        taken = wire.request()
        wire.sends(*bytewise(case.sent))
        assert (taken.status, taken.body, taken.ended) == (case.status, case.body, True)
    assert not wire.closed


STRAY = [
    b"x",
    b"\r\n\r\nGET / HTTP/1.1\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbad\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
]


@pytest.mark.parametrize("stray", STRAY)
@cases
def test_bytes_after_the_end_are_not_part_of_it(case: Case, stray: bytes) -> None:
    """In the same read or later: the response stays what it was, and the connection is given up."""
    if case.ends:
        return
    wire, taken = play(case, [case.sent + stray])
    assert (taken.status, taken.body, taken.ended) == (case.status, case.body, True)
    assert wire.owner.finished_as == [False]
    assert wire.closed
    wire, taken = play(case, [case.sent, stray])
    assert (taken.status, taken.body, taken.ended) == (case.status, case.body, True)
    assert wire.closed


BROKEN = {
    "no HTTP": (b"hello\r\n\r\n", b""),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x16", b""),
    "no version": (b"200 OK\r\n\r\n", b""),
    "switching protocols": (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b""),
    "length and chunks": (OK + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n", b""),
    "two lengths": (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", b""),
    "no length": (OK + b"Content-Length: five\r\n\r\nhello", b""),
    "bad chunk": (OK + CHUNKED + b"5\r\nhello\r\nzz\r\n", b"hello"),
    "chunk too long": (OK + CHUNKED + b"5\r\nhello, world\r\n", b"hello"),
}


@pytest.mark.parametrize(("sent", "body"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_response(sent: bytes, body: bytes) -> None:
    """An error, after what could be read before it; the connection is closed."""
    for cut in pieces(sent):
        wire = Wire()
        taken = wire.request()
        wire.sends(*cut)
        assert taken.error is not None, cut
        assert taken.error.answered
        assert taken.body == body
        assert wire.closed
        assert wire.owner.finished_as == []


@pytest.mark.parametrize(
    "piece", [b"x" * 1000, b"X-Filler: " + b"y" * 990 + b"\r\n"], ids=["one endless header", "endless headers"]
)
def test_an_endless_head(piece: bytes) -> None:
    wire = Wire()
    taken = wire.request()
    wire.sends(OK + b"X: ")
    for _ in range(600):
        wire.sends(piece)
    assert taken.error is not None
    assert "headers" in str(taken.error)
    assert wire.closed


def test_endless_interim_answers() -> None:
    wire = Wire()
    taken = wire.request()
    for _ in range(25_000):
        wire.sends(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert taken.error is not None


def test_endless_trailers() -> None:
    """Nor are they kept: a trailer says nothing that anybody is told."""
    wire = Wire()
    taken = wire.request()
    wire.sends(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
    for _ in range(600):
        wire.sends(b"X-Filler: " + b"y" * 990 + b"\r\n")
    assert taken.error is not None
    assert wire.closed


@pytest.mark.parametrize("status", [b"600", b"999", b"000", b"099"])
def test_a_status_that_is_none(status: bytes) -> None:
    wire = Wire()
    taken = wire.request()
    wire.sends(b"HTTP/1.1 %b Odd\r\nContent-Length: 0\r\n\r\n" % status)
    assert taken.error is not None


def test_headers_are_kept_as_they_are_but_for_their_case() -> None:
    wire = Wire()
    taken = wire.request()
    wire.sends(OK + b"Set-Cookie: a=1\r\nset-cookie: b=\xe9\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n")
    assert taken.headers == [
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=\xe9"),
        (b"x-empty", b""),
        (b"content-length", b"0"),
    ]


def test_all_of_a_read_comes_at_once() -> None:
    """Ten events in one read cost one call, not ten."""
    wire = Wire()
    taken = wire.request()
    wire.sends(OK + CHUNKED + chunk(b"one"), chunk(b"two") * 10, b"0\r\n\r\n")
    assert taken.reads == [b"one", b"two" * 10]


def test_a_request_that_is_answered_before_it_was_sent() -> None:
    """The engine did not want the rest: what is left of it would be taken for the next request."""
    wire = Wire()
    wire.unsent = 100
    taken = wire.request()
    wire.sends(OK + b"Content-Length: 2\r\n\r\nno")
    assert taken.ended
    assert wire.owner.finished_as == [False]
    assert wire.closed


@pytest.mark.parametrize("size", [0, 10, 65_535, 65_536, 1_000_000])
def test_the_request_goes_out_whole(size: int) -> None:
    wire = Wire()
    wire.connection.send(b"HEAD", b"x" * size, Taken())
    assert wire.requests == b"HEAD" + b"x" * size


def test_an_abandoned_connection_is_closed_and_says_nothing_more() -> None:
    wire = Wire()
    taken = wire.request()
    wire.sends(OK + b"Content-Length: 9\r\n\r\nhello")
    wire.connection.abandon()
    assert wire.closed
    wire.resets()
    assert not taken.over
    assert wire.owner.losses == 1


def test_a_failed_connection_says_why_once() -> None:
    wire = Wire()
    taken = wire.request()
    wire.connection.fail(EngineError("because"))
    assert str(taken.error) == "because"
    assert wire.closed
    wire.resets()


def test_bytes_on_an_idle_connection_close_it() -> None:
    wire = Wire()
    wire.sends(b"HTTP/1.1 408 Timeout\r\n\r\n")
    assert wire.closed
