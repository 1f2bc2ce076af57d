"""Headers on their way through, both ways."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.relay.headers import downstream_headers, request_id, traceparent, upstream_head

Header = tuple[bytes, bytes]

SECRETS = [b"authorization", b"x-api-key", b"api-key", b"cookie", b"proxy-authorization"]
HOP_BY_HOP = [
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
]
PLAIN = [b"accept", b"content-type", b"user-agent", b"x-custom", b"openai-organization", b"tracestate", b"x-spillway"]
OURS = [b"x-spillway-pool", b"x-spillway-whatever", b"x-spillway-"]
CORS = [b"access-control-allow-origin", b"access-control-expose-headers"]

tokens = st.sampled_from([*SECRETS, *HOP_BY_HOP, *PLAIN, *OURS, *CORS, b"host", b"content-length", b"expect"])
values = st.binary(max_size=20).map(lambda value: re.sub(rb"[\x00-\x1f\x7f]", b"", value).strip())
connections = st.lists(st.sampled_from([b"close", b"keep-alive", b"X-Custom", b"accept", b""]), max_size=3)
headers = st.lists(
    st.tuples(tokens, values) | connections.map(lambda names: (b"connection", b" , ".join(names))), max_size=12
)


def upstream(sent: Sequence[Header], length: int | None = 2, key: str | None = None) -> list[Header]:
    """The headers of the request that an engine gets."""
    head = upstream_head(
        b"POST /v1/x HTTP/1.1\r\n",
        sent,
        host=b"host: engine:1\r\n",
        length=length,
        request=b"r-1",
        trace=b"t-1",
        key=key,
    )
    assert head.startswith(b"POST /v1/x HTTP/1.1\r\n")
    assert head.endswith(b"\r\n\r\n")
    lines = head[:-4].split(b"\r\n")[1:]
    return [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]


def nominated(sent: Sequence[Header]) -> set[bytes]:
    named = [value for name, value in sent if name == b"connection"]
    return {token.strip().lower() for value in named for token in value.split(b",")}


@given(headers, st.none() | st.integers(0, 10**9), st.none() | st.just("engine-key"))
def test_what_an_engine_gets(sent: list[Header], length: int | None, key: str | None) -> None:
    got = upstream(sent, length, key)
    own = [(b"host", b"engine:1"), (b"x-request-id", b"r-1"), (b"traceparent", b"t-1")]
    own += [(b"content-length", b"%d" % length)] if length is not None else []
    own += [(b"authorization", b"Bearer engine-key")] if key else []
    for header in own:
        assert got.count(header) == 1
        got.remove(header)
    kept = [(name, value) for name, value in sent if name in (*PLAIN, *CORS) and name not in nominated(sent)]
    assert got == kept


@given(headers, st.booleans())
def test_what_a_client_gets(sent: list[Header], keep_length: bool) -> None:
    dropped = {*HOP_BY_HOP, *nominated(sent), b"date", b"set-cookie", b"x-request-id", *OURS, *CORS}
    dropped |= set() if keep_length else {b"content-length"}
    assert downstream_headers(sent, keep_length=keep_length) == [each for each in sent if each[0] not in dropped]


@pytest.mark.parametrize("secret", SECRETS)
def test_the_clients_secrets_stay_here(secret: bytes) -> None:
    sent = [(secret, b"Bearer sesame"), (b"accept", b"*/*")]
    assert not any(b"sesame" in value for _, value in upstream(sent))
    assert upstream(sent, key="engine-key").count((b"authorization", b"Bearer engine-key")) == 1


def test_all_that_connection_names_is_dropped() -> None:
    """Over several headers and in any case, beside the ordinary values."""
    sent = [
        (b"x-a", b"1"),
        (b"connection", b"close"),
        (b"connection", b"X-A, keep-alive"),
        (b"connection", b"x-b"),
        (b"x-b", b"2"),
        (b"x-c", b"3"),
    ]
    assert [header for header in upstream(sent) if header[0].startswith(b"x-")] == [
        (b"x-c", b"3"),
        (b"x-request-id", b"r-1"),
    ]
    assert downstream_headers(sent, keep_length=True) == [(b"x-c", b"3")]


def test_an_engine_is_asked_for_plain_bytes() -> None:
    assert b"accept-encoding" not in dict(upstream([(b"accept-encoding", b"gzip")]))


def test_repeated_headers_stay_in_order() -> None:
    sent = [(b"x-custom", b"1"), (b"accept", b"a"), (b"x-custom", b"2")]
    assert [each for each in upstream(sent) if each in sent] == sent
    assert downstream_headers(sent, keep_length=True) == sent


@pytest.mark.parametrize("sent", [b"r", b"req-1", b"x" * 128, b"!~{}\"'"])
def test_a_request_id_to_keep(sent: bytes) -> None:
    assert request_id(sent) == sent


@pytest.mark.parametrize("sent", [None, b"", b"x" * 129, b"a b", b"a\r\nb", b"a\n", b"\x7f", b"caf\xe9", b"\t"])
def test_a_request_id_to_replace(sent: bytes | None) -> None:
    made = request_id(sent)
    assert re.fullmatch(rb"req-[0-9a-f]{32}", made)
    assert request_id(sent) != made


TRACE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("sent", [TRACE, TRACE[:-2] + b"00", b"cc" + TRACE[2:] + b"-what-comes-later"])
def test_a_trace_to_keep(sent: bytes) -> None:
    assert traceparent(sent) == sent


@pytest.mark.parametrize(
    "sent",
    [
        None,
        b"",
        TRACE.upper(),
        TRACE[:-1],
        TRACE + b"\n",
        TRACE + b"0",
        b"ff" + TRACE[2:],
        b"00-" + b"0" * 32 + TRACE[35:],
        TRACE[:36] + b"0" * 16 + b"-01",
        TRACE + b"-more",
        b"x" + TRACE,
    ],
)
def test_a_trace_to_replace(sent: bytes | None) -> None:
    """What W3C's Trace Context calls invalid: version ff, all zeros, version 00 with more fields."""
    made = traceparent(sent)
    assert re.fullmatch(rb"00-[0-9a-f]{32}-[0-9a-f]{16}-01", made)
    assert traceparent(made) == made
    assert traceparent(sent) != made
