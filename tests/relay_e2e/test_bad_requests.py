"""Requests that are wrong: each gets a clear error, is counted, and leaves nothing in flight."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.config import config
from tests.support.raw import Response, exchange, raw_client, request_bytes
from tests.support.site import Site, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import chunk

BODY_LIMIT = 256 * 1024
JSON = ("content-type", "application/json")
GOOD = b'{"model": "fake", "messages": []}'


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread) -> Iterator[Site]:
    with site(
        engine_thread,
        settings=lambda fast, plain: config(
            fake_model(fast, plain, aliases=["counterfeit"]), limits={"body_bytes": BODY_LIMIT, "header_bytes": 16384}
        ),
    ) as running:
        yield running


@dataclass(frozen=True)
class Bad:
    """What is sent, and what must come back."""

    sent: bytes
    status: int | tuple[int, ...]
    says: str = ""  # part of the error's message
    param: str | None = None
    code: str | None = None
    counted: bool = True  # in spillway_requests_total, which knows what is meant for an engine
    http: bool = True  # False: no request at all, refused in plain words below the relay

    @property
    def statuses(self) -> tuple[int, ...]:
        return self.status if isinstance(self.status, tuple) else (self.status,)


def body(data: bytes, *headers: tuple[str, str], path: str = "/v1/chat/completions") -> bytes:
    return request_bytes(data, path=path, headers=(JSON, *headers))


CASES: dict[str, Bad] = {
    "empty body": Bad(body(b""), 400, "JSON"),
    "invalid JSON": Bad(body(b'{"model": "fake", "messages": [}'), 400, "not valid JSON: invalid character (byte 31)"),
    "cut JSON": Bad(body(b'{"model": "fake", "messages": ['), 400, "JSON"),
    "JSON with something after it": Bad(body(GOOD + b"{}"), 400, "JSON"),
    "not an object": Bad(body(b'["fake"]'), 400, "object"),
    "a bare string": Bad(body(b'"fake"'), 400, "object"),
    "missing model": Bad(body(b'{"messages": []}'), 400, "model", param="model"),
    "model is null": Bad(body(b'{"model": null}'), 400, "model", param="model"),
    "model is a number": Bad(body(b'{"model": 5}'), 400, "model", param="model"),
    "model is an object": Bad(body(b'{"model": {"a": 1}}'), 400, "model", param="model"),
    "model is empty": Bad(body(b'{"model": ""}'), (400, 404), param="model"),
    "unknown model": Bad(body(b'{"model": "nope"}'), 404, "fake", param="model", code="model_not_found"),
    "unknown model lists the aliases": Bad(body(b'{"model": "nope"}'), 404, "counterfeit", param="model"),
    "model with a NUL": Bad(body(rb'{"model": "fake\u0000"}'), (400, 404), param="model"),
    "model with a lone surrogate": Bad(body(rb'{"model": "\ud800"}'), (400, 404)),
    "model of 100 KB": Bad(body(b'{"model": "' + b"m" * 100_000 + b'"}'), (400, 404), param="model"),
    "model in bad UTF-8": Bad(body(b'{"model": "\xff\xfe"}'), (400, 404)),
    "raw NUL bytes": Bad(body(b'{"model": "fake", \x00}'), 400, "JSON"),
    "UTF-16": Bad(body('{"model": "fake"}'.encode("utf-16")), 400, "JSON"),
    "the last of two models decides, as in engines": Bad(body(b'{"model": "fake", "model": "nope"}'), (400, 404)),
    "100,000 open brackets": Bad(body(b'{"model": "fake", "x": ' + b"[" * 100_000), 400),
    "GET of a POST path": Bad(request_bytes(b"", method="GET"), 405),
    "DELETE of a POST path": Bad(request_bytes(b"", method="DELETE"), 405),
    "DELETE of generate": Bad(request_bytes(GOOD, path="/generate", method="DELETE", headers=[JSON]), 405),
    "POST of models": Bad(body(GOOD, path="/v1/models"), 405, "GET", counted=False),
    "text/plain": Bad(request_bytes(GOOD, headers=[("content-type", "text/plain")]), 415, "application/json"),
    "a form": Bad(request_bytes(GOOD, headers=[("content-type", "application/x-www-form-urlencoded")]), 415),
    "compressed": Bad(body(gzip.compress(GOOD), ("content-encoding", "gzip")), (400, 415)),
    "unknown path": Bad(body(GOOD, path="/v2/chat/completions"), 404, "/v2/chat", counted=False),
    "outside the API": Bad(body(GOOD, path="/flush_cache"), 404, "/flush_cache", counted=False),
    **{
        f"a path that may mean another: {path}": Bad(body(GOOD, path=path), 400, "segment", code="invalid_path")
        for path in (
            *("/v1/../flush_cache", "/v1/%2e%2e/flush_cache", "/v1/.%2E/flush_cache", "/v1/..%2fflush_cache"),
            *("/v1/x%2f..%2f..%2fflush_cache", "/v1/..%5cflush_cache", "/v1/..;/flush_cache"),
            *(
                "/v1/.",
                "/v1/%2e",
                "/v1/..",
                "/v1/./models",
                "/v1//chat/completions",
                "/v1/%2fchat/completions",
                "/v1//",
            ),
            *("http://gateway.test/v1/../flush_cache", "/v1/x/../../flush_cache?a=b", "/v1/%252e%252e/flush_cache"),
        )
    },
    "a slash at the end": Bad(body(GOOD, path="/v1/chat/completions/"), 404, "slash", code="unknown_path"),
    "pinning where it is not allowed": Bad(body(GOOD, ("x-spillway-pool", "baseline")), (400, 403), "pin"),
    "multipart without a model": Bad(
        request_bytes(
            b'--b\r\ncontent-disposition: form-data; name="x"\r\n\r\n1\r\n--b--\r\n',
            path="/v1/audio/transcriptions",
            headers=[("content-type", "multipart/form-data; boundary=b")],
        ),
        400,
        "model",
        param="model",
    ),
    "multipart without a boundary": Bad(
        request_bytes(b"--b--", path="/v1/audio/transcriptions", headers=[("content-type", "multipart/form-data")]),
        400,
        "boundary",
    ),
    "multipart that never closes a part": Bad(
        request_bytes(
            b'--b\r\ncontent-disposition: form-data; name="mod',
            path="/v1/audio/transcriptions",
            headers=[("content-type", "multipart/form-data; boundary=b")],
        ),
        400,
    ),
    "body over the limit": Bad(body(b" " * (BODY_LIMIT + 1)), 413, str(BODY_LIMIT)),
    "Content-Length over the limit, nothing sent": Bad(
        request_bytes(b"", headers=[JSON, ("content-length", str(10**12))], length=False), 413, str(BODY_LIMIT)
    ),
    "chunked body over the limit": Bad(
        request_bytes(b"", headers=[JSON, ("transfer-encoding", "chunked")], length=False)
        + chunk(b" " * 65536) * (BODY_LIMIT // 65536 + 1),
        413,
        str(BODY_LIMIT),
    ),
    "header flood": Bad(body(GOOD, *((f"x-flood-{i}", "v" * 100) for i in range(1000))), 431),
    "one endless header": Bad(body(GOOD, ("x-flood", "v" * 100_000)), 431),
    "endless target": Bad(body(GOOD, path="/v1/" + "a" * 100_000), (414, 431)),
    "Content-Length that is no number": Bad(
        request_bytes(GOOD, headers=[JSON, ("content-length", "ten")], length=False), 400, counted=False, http=False
    ),
    "two Content-Lengths": Bad(body(GOOD, ("content-length", "5")), 400, counted=False, http=False),
    "NUL in a header": Bad(body(GOOD, ("x-a", "b\0c")), 400, counted=False, http=False),
    "not HTTP": Bad(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400, counted=False, http=False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_bad_request(here: Site, case: Bad) -> None:
    here.respond(here.engines[0].respond)
    before = here.gateway.metrics()
    response = await exchange(here.gateway.port, case.sent)
    assert response.status in case.statuses, response
    assert response.complete
    check_error(response, case)
    name, code = "spillway_requests_total", str(response.status)
    if case.counted:
        await here.gateway.counted(name, before.total(name, code=code) + 1, code=code)
    assert here.gateway.metrics().total(name, code="200") == before.total(name, code="200")
    assert here.requests() == 0, "an engine saw it"
    await here.gateway.assert_idle()


def check_error(response: Response, case: Bad) -> None:
    if not case.http:
        return
    error = response.error
    assert case.says in error["message"]
    assert len(error["message"]) < 2000, "an error repeats at most a little of what was sent"
    if case.param is not None:
        assert error["param"] == case.param
    if case.code is not None:
        assert error["code"] == case.code
    assert response.header("content-type") == "application/json"
    if response.status == 405:
        assert response.header("allow") in ("POST", "POST, PUT", "GET")
    if case.counted and response.status not in (431, 414):
        assert response.header("x-request-id")


async def test_too_large_is_said_before_the_body_is_sent(here: Site) -> None:
    head = request_bytes(b"", headers=[JSON, ("expect", "100-continue"), ("content-length", "999999999")], length=False)
    response = await exchange(here.gateway.port, head)
    assert (response.status, response.informational) == (413, [])


async def test_the_gateway_serves_on_after_all_that(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        for _ in range(3):
            await client.send(body(GOOD))
            assert (await client.response()).status == 200


async def test_errors_leave_a_connection_usable(here: Site) -> None:
    async with raw_client(here.gateway.port) as client:
        for sent, status in (
            (b'{"model": "nope"}', 404),
            (b"{", 400),
            (GOOD, 200),
            (b'{"messages": []}', 400),
            (GOOD, 200),
        ):
            await client.send(body(sent))
            assert (await client.response()).status == status
