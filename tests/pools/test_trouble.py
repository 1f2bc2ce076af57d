"""Why a replica is not ready: in its error and, once for each kind of cause, in the log."""

import asyncio
import socket
import ssl
from collections.abc import Callable

import httpx
import pytest

from gateway.pools.trouble import UNPROBED, unreachable, unwell
from tests.pools.engine import Engine, an_engine
from tests.pools.probing import IMPATIENT, Probing, probing
from tests.support.config import config, model, pool
from tests.support.gateway import gateway


async def eventually(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come about within 5 s")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "gateway.pools.prober"]


def told(site: Probing, text: str) -> str:
    return f"m/speculative replica {site.replica.url} {text}"


async def test_each_kind_of_cause_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with an_engine() as engine, probing(engine) as site:
        engine.refuse()
        assert site.replica.error == UNPROBED.text
        await eventually(lambda: site.replica.error == "connection refused")
        await asyncio.sleep(0.4)
        engine.mode = "unwell"
        await engine.start()
        await engine.probed(3)
        assert site.replica.error == "503 from /health"
        engine.mode = "ok"
        await site.becomes(ready=True)
        assert site.replica.error is None
        assert warnings(caplog) == [
            told(site, "is ejected: connection refused"),
            told(site, "is ejected: 503 from /health"),
            told(site, "is ready"),
        ]


async def test_requests_that_failed_are_a_cause(caplog: pytest.LogCaptureFixture) -> None:
    async with an_engine() as engine, probing(engine, eject_seconds=60, eject_max_seconds=60) as site:
        await site.becomes(ready=True)
        for _ in range(3):
            site.replica.health.request_failed(asyncio.get_running_loop().time())
        site.pool.refresh()
        await eventually(lambda: bool(warnings(caplog)))
        assert site.replica.error == "requests on it failed in a row"
        assert warnings(caplog) == [told(site, "is ejected: requests on it failed in a row")]


async def test_a_server_that_accepts_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        engine = Engine()
        engine.port = mute.getsockname()[1]
        async with probing(engine, **IMPATIENT) as site:
            await eventually(lambda: site.replica.error == "no answer to probes (ReadTimeout)")


@pytest.mark.parametrize(
    ("kind", "path", "error"),
    [
        ("sglang", None, "404 from /health: is this an engine of this kind? set health.path"),
        ("openai", None, "404 from /v1/models: is this the base URL of an OpenAI API? set health.path"),
        ("vllm", "/up", "404 from /up: set health.path to one that the engine has"),
    ],
)
async def test_an_engine_without_the_path_is_not_ready(kind: str, path: str | None, error: str) -> None:
    async with an_engine() as engine, probing(engine, kind, path=path) as site:
        engine.mode = "no such path"
        await eventually(lambda: site.replica.error == error)
        await engine.probed(2)
        assert not site.pool.ready


async def test_an_engine_with_the_other_usual_path_is_ready() -> None:
    async with an_engine() as engine, probing(engine, "sglang", path=None) as site:
        engine.mode = "only models"
        await engine.probed(3)
        await eventually(lambda: bool(site.pool.ready))


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 405, 429])
def test_other_answers_will_do(status: int) -> None:
    assert unwell(status, "/health", configured=False, engine="vllm") is None


async def test_no_tls_where_https_is_expected() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 X\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError) as failed:
            await client.get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert "is this an https port?" in unreachable(failed.value).text


def test_a_host_with_several_addresses() -> None:
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = ExceptionGroup(
        "multiple connection attempts failed", [ConnectionRefusedError(111, "Connect")] * 2
    )
    assert unreachable(error).text == "connection refused"


def test_a_host_that_does_not_resolve() -> None:
    error = httpx.ConnectError("[Errno -2] Name or service not known")
    error.__cause__ = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert unreachable(error).text == "the host does not resolve: Name or service not known"


def test_a_certificate_that_is_not_trusted() -> None:
    error = httpx.ConnectError("x")
    refused = ssl.SSLCertVerificationError()
    refused.verify_code, refused.verify_message = 18, "self-signed certificate"
    error.__cause__ = refused
    assert unreachable(error).text == "certificate refused: self-signed certificate"


def test_garbage_is_the_same_cause_whatever_it_says() -> None:
    one, other = (unreachable(httpx.RemoteProtocolError(text)) for text in ("illegal: 1" * 100, "illegal: 2"))
    assert one.kind == other.kind
    assert len(one.text) == 200


async def test_a_server_that_hangs_up() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server, httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError) as failed:
            await client.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert unreachable(failed.value).text == (
        "the connection ended without an answer: is this an http port of an engine?"
    )


async def test_status_and_log_of_a_gateway_without_its_engine() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        with gateway(config(model(baseline=pool([url]))), "/health") as running:
            expected = {"url": url, "inflight": 0, "state": "ejected", "error": "connection refused"}
            await running.eventually(lambda: expected.items() <= running.pool_status("baseline")["replicas"][0].items())
            await asyncio.sleep(0.6)
            said = [line["message"] for line in running.log if line["level"] == "warning"]
            assert said == [f"fake/baseline replica {url} is ejected: connection refused"]
