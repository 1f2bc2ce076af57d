"""What operators report of API servers: missed events, silent watches, 410, 429, 5xx, expired tokens, absence."""

import asyncio
import logging
from pathlib import Path

import pytest

from tests.kube.apiserver import ADMIN, ApiServer, StatusError
from tests.kube.following import eventually, following
from tests.kube.shapes import NAMESPACE, endpoint, endpoint_slice

pytestmark = pytest.mark.usefixtures("kubeconfig")
ONE, TWO, THREE = "10.0.0.1", "10.0.0.2", "10.0.0.3"
RESYNC = 0.8
BROKEN = StatusError(500, "InternalError", "etcdserver: no leader")


def lists(server: ApiServer) -> int:
    return sum("watch=true" not in request.lower() for request in server.requests)


def two(server: ApiServer) -> None:
    server.put(endpoint_slice("a", [endpoint(ONE)]), endpoint_slice("b", [endpoint(TWO)]))


async def watched(server: ApiServer, count: int = 1) -> None:
    await eventually(lambda: server.watches == count, lambda: f"{server.watches} watches")


async def test_a_missed_deletion_is_healed_by_the_next_list(server: ApiServer) -> None:
    two(server)
    async with following(resync_seconds=RESYNC) as here:
        await here.sees(ONE, TWO)
        await watched(server)
        server.faults.drops = lambda event: event["type"] == "DELETED"
        server.remove(NAMESPACE, "b")
        before = lists(server)
        await here.sees(ONE)
        assert lists(server) > before
        assert here.errors == {}


async def test_a_silent_watch_is_healed_by_the_next_list(server: ApiServer) -> None:
    server.bookmark_seconds = 0.05
    two(server)
    async with following(resync_seconds=RESYNC) as here:
        await watched(server)
        await asyncio.sleep(RESYNC / 2)
        server.faults.silence()
        server.remove(NAMESPACE, "b")
        before = lists(server)
        await here.sees(ONE)
        assert lists(server) > before
        assert here.errors == {}, "to leave a watch in time is no failure"
        server.put(endpoint_slice("c", [endpoint(THREE)]))
        await here.sees(ONE, THREE)
        await watched(server)


async def test_a_watch_that_ends_early_is_resumed_without_a_list(server: ApiServer) -> None:
    two(server)
    async with following() as here:
        await watched(server)
        server.cut()
        server.remove(NAMESPACE, "b")
        await here.sees(ONE)
        await watched(server)
        assert lists(server) == 1
        await eventually(lambda: here.errors == {"unreachable": 1}, lambda: here.errors)


async def test_gone(server: ApiServer) -> None:
    two(server)
    async with following() as here:
        await watched(server)
        server.faults.drops = lambda _: True
        server.remove(NAMESPACE, "b")
        await asyncio.sleep(0.1)
        server.faults.fail_watches(StatusError(410, "Expired", "too old resource version"))
        await here.sees(ONE)
        assert lists(server) == 2
        await eventually(lambda: here.errors == {"expired": 1}, lambda: here.errors)


async def test_a_restart_with_compaction(server: ApiServer) -> None:
    two(server)
    async with following() as here:
        await watched(server)
        server.stop()
        server.remove(NAMESPACE, "b")
        server.put(endpoint_slice("c", [endpoint(THREE)]))
        server.store.compact()
        await asyncio.sleep(0.3)
        assert here.ready == [f"{ONE}:30000", f"{TWO}:30000"], "what is known keeps serving"
        server.start()
        await here.sees(ONE, THREE)


async def test_a_version_from_the_future(server: ApiServer) -> None:
    """As after etcd was restored from a backup: the version that was seen last has not been reached again."""
    two(server)
    async with following(resync_seconds=RESYNC) as here:
        await here.sees(ONE, TWO)
        await watched(server)
        backup = server.store
        server.stop()
        fresh = ApiServer(tls=True)
        server.store = fresh.store
        server.put(endpoint_slice("a", [endpoint(ONE)]))
        assert server.store.version < backup.version
        server.start()
        await here.sees(ONE)
        server.put(endpoint_slice("c", [endpoint(THREE)]))
        await here.sees(ONE, THREE)


async def test_no_answer_for_long(server: ApiServer, caplog: pytest.LogCaptureFixture) -> None:
    two(server)
    with caplog.at_level(logging.INFO):
        async with following(resync_seconds=RESYNC) as here:
            await watched(server)
            server.stop()
            await asyncio.sleep(RESYNC + 0.7)
            assert here.ready == [f"{ONE}:30000", f"{TWO}:30000"]
            assert here.age > RESYNC
            assert 3 <= here.errors["unreachable"] <= 16, "pauses grow"
            server.start()
            await eventually(lambda: here.age < 0.2, lambda: here.age)
            # Lists and watches fail apart: only when both work again is it said.
            again = "m/baseline: discovery works again after"
            await eventually(lambda: any(again in record.message for record in caplog.records), lambda: caplog.text)
    refused = [record for record in caplog.records if "Connection refused" in record.message]
    assert len(refused) == 1, "one line says it"
    assert "the 2 endpoints known keep serving, trying again" in refused[0].message


async def test_too_many_requests(server: ApiServer) -> None:
    """Retry-After is respected, on a list and on a watch."""
    server.put(endpoint_slice("a", [endpoint(ONE)]))
    server.faults.refuse(StatusError(429, "TooManyRequests", "slow down", retry_after=1), "list")
    async with following() as here:
        assert await here.sees(ONE) > 1
        assert here.errors == {"throttled": 1}
        assert len(server.requests) <= 3


async def test_errors_of_the_server(server: ApiServer) -> None:
    two(server)
    server.faults.refuse(BROKEN, times=4)
    async with following() as here:
        assert await here.sees(ONE, TWO, seconds=10) > 0.5
        assert here.errors == {"server_error": 4}
        await watched(server)
        server.faults.fail_watches(BROKEN)
        server.remove(NAMESPACE, "b")
        await here.sees(ONE)


async def test_a_server_too_busy_to_list_is_watched_on(server: ApiServer, caplog: pytest.LogCaptureFixture) -> None:
    server.bookmark_seconds = 0.05
    two(server)
    async with following(resync_seconds=RESYNC) as here:
        await watched(server)
        server.faults.refuse(StatusError(429, "TooManyRequests", "slow down"), "list", times=1000)
        await eventually(lambda: here.errors["throttled"] >= 3, lambda: here.errors, 5)
        server.remove(NAMESPACE, "b")
        await here.sees(ONE)
        assert here.errors["throttled"] < 8
        assert caplog.text.count("429 slow down") == 1


async def test_garbage(server: ApiServer) -> None:
    two(server)
    async with following() as here:
        await watched(server)
        server.faults.garble_watches()
        server.remove(NAMESPACE, "b")
        await here.sees(ONE)
        await eventually(lambda: here.errors == {"garbled": 1}, lambda: here.errors)
        await eventually(lambda: lists(server) == 2, lambda: "what was not understood may have been anything")


async def test_a_watch_that_ends_at_once_each_time(server: ApiServer) -> None:
    """The requests become few, and lists still tell of changes."""
    two(server)
    async with following(resync_seconds=RESYNC) as here:
        await watched(server)
        server.faults.refuse(StatusError(503, "ServiceUnavailable", "no watch today"), "watch", times=1000)
        server.cut()
        await asyncio.sleep(1.0)
        server.remove(NAMESPACE, "b")
        await here.sees(ONE)
        assert len(server.requests) < 16


async def test_an_expired_token(server: ApiServer, kubeconfig: Path) -> None:
    two(server)
    async with following(resync_seconds=RESYNC) as here:
        await here.sees(ONE, TWO)
        server.access.expire(ADMIN)
        await eventually(lambda: here.errors["unauthorized"], lambda: here.errors)
        server.access.issue("fresh", "spillway")
        server.access.allow("spillway", NAMESPACE, "endpointslices", "list", "watch")
        server.kubeconfig(kubeconfig, token="fresh", namespace=NAMESPACE)
        server.remove(NAMESPACE, "b")
        await here.sees(ONE)


async def test_a_right_that_is_missing(server: ApiServer, kubeconfig: Path, caplog: pytest.LogCaptureFixture) -> None:
    two(server)
    server.access.issue("weak", "spillway")
    server.kubeconfig(kubeconfig, token="weak", namespace=NAMESPACE)
    async with following() as here:
        await eventually(lambda: here.errors["forbidden"] >= 2, lambda: here.errors)
        [told] = [record.message for record in caplog.records if "no right to" in record.message]
        assert told.startswith("m/baseline: no right to list the EndpointSlices of Service k2-baseline in")
        assert "a Role with get, list and watch on endpointslices" in told
        server.access.allow("spillway", NAMESPACE, "endpointslices", "list", "watch")
        await here.sees(ONE, TWO)


async def test_a_slow_server(server: ApiServer) -> None:
    two(server)
    server.faults.delay = 0.4
    async with following() as here:
        await here.sees(ONE, TWO)
        assert here.errors == {}
    async with following(timeout_seconds=0.2) as here:
        await eventually(lambda: here.errors["timeout"], lambda: here.errors)
        server.faults.delay = 0.0
        await here.sees(ONE, TWO)


async def test_no_credentials_yet(server: ApiServer, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two(server)
    later = kubeconfig.with_name("later")
    monkeypatch.setenv("KUBECONFIG", str(later))
    async with following() as here:
        await eventually(lambda: here.errors["no_credentials"], lambda: here.errors)
        server.kubeconfig(later, namespace=NAMESPACE)
        await here.sees(ONE, TWO)
