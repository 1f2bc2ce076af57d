"""Which paths are relayed, with which methods, and what a broken stream ends with."""

import json

import pytest

from gateway.api.errors import ApiError
from gateway.relay.endpoints import find_endpoint, is_relayed
from gateway.relay.engine import EngineError, EngineTimeoutError
from gateway.relay.errors import broken_event, engine_failed

POSTED = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/rerank",
    "/v1/score",
    "/v1/messages",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/generate",
]


@pytest.mark.parametrize("path", [*POSTED, "/v1/files", "/v1/batches/x/cancel", "/v1/modelsx", "/v1/"])
def test_relayed(path: str) -> None:
    assert is_relayed(path)


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/models", "/v1/models/m", "/health", "/metrics", "/generate/", "/v2/x", "//v1/x", ""]
)
def test_not_relayed(path: str) -> None:
    assert not is_relayed(path)


@pytest.mark.parametrize("path", POSTED)
def test_the_known_ones_take_post(path: str) -> None:
    find_endpoint(path, "POST")
    for method in ("GET", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT"):
        with pytest.raises(ApiError) as refused:
            find_endpoint(path, method)
        assert refused.value.status == 405
        assert b"POST" in dict(refused.value.headers)[b"allow"]


def test_the_others_take_what_is_usual() -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        endpoint = find_endpoint("/v1/files", method)
        assert not endpoint.needs_json
        assert not endpoint.asks_usage
    for method in ("HEAD", "OPTIONS", "CONNECT", "PROPFIND"):
        with pytest.raises(ApiError):
            find_endpoint("/v1/files", method)


def test_only_completions_are_asked_for_usage() -> None:
    """Others have no stream_options, and would refuse it."""
    asked = {path for path in POSTED if find_endpoint(path, "POST").asks_usage}
    assert asked == {"/v1/chat/completions", "/v1/completions"}


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/../admin", "/v1/x/..", "/v1/./x", "/v1/a/../../b", "/v1/.", "/v1/..", "/v1/./"),
        *("/v1//chat/completions", "/v1//", "/v1///x", "/v1/x//y"),
        *(
            "/v1/..\\admin",
            "/v1\\..\\admin",
            "/v1/x\\\\y",
            "/v1/..;/admin",
            "/v1/..;x=1/admin",
            "/v1/.;/x",
            "/v1/;/x",
            "/v1/%2e%2e/x",
            "/v1/..%2fx",
            "/v1/x%5c%2e",
        ),
    ],
)
def test_paths_that_may_mean_another(path: str) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        with pytest.raises(ApiError) as refused:
            find_endpoint(path, method)
        assert (refused.value.status, refused.value.code) == (400, "invalid_path")


@pytest.mark.parametrize(
    "path",
    ["/v1/.x", "/v1/x.", "/v1/...", "/v1/a..b", "/v1/x/", "/v1/", "/v1/a;b", "/v1/50%", "/v1/a%2Fb", "/v1/a/b.c/.d"],
)
def test_paths_that_look_odd_only(path: str) -> None:
    find_endpoint(path, "GET")


@pytest.mark.parametrize("path", [*POSTED[:-1], "/v1/messages"])
def test_a_slash_at_the_end(path: str) -> None:
    """Engines with FastAPI answer 307 with their own address."""
    with pytest.raises(ApiError) as refused:
        find_endpoint(f"{path}/", "POST")
    assert (refused.value.status, refused.value.code) == (404, "unknown_path")


def test_an_engine_that_failed() -> None:
    reset, slow = EngineError("reset"), EngineTimeoutError("600 s")
    assert [engine_failed("m", error).status for error in (reset, slow)] == [502, 504]
    for error in (reset, slow):
        body = json.loads(engine_failed("m", error).body())["error"]
        assert body["type"] == "server_error"
        assert "Try again" in body["message"]


def test_a_broken_stream_ends_as_its_clients_expect() -> None:
    event = broken_event("m", EngineError('a "quoted"\nreason'), "openai")
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    assert event.count(b"\n") == 2
    error = json.loads(event.removeprefix(b"data: "))["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == "stream_broken"
    kind, data, *rest = broken_event("m", EngineError("x"), "anthropic").split(b"\n")
    assert (kind, rest) == (b"event: error", [b"", b""])
    assert json.loads(data.removeprefix(b"data: "))["type"] == "error"
