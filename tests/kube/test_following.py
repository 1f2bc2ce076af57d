"""A pool follows the EndpointSlices of its Service."""

import asyncio
import logging

import pytest

from tests.kube.apiserver import ApiServer
from tests.kube.following import eventually, following
from tests.kube.shapes import NAMESPACE, endpoint, endpoint_slice, terminating

pytestmark = pytest.mark.usefixtures("kubeconfig")
ONE, TWO, THREE = "10.0.0.1", "10.0.0.2", "10.0.0.3"
PROMPT = 0.3


async def test_what_is_there_at_the_start(server: ApiServer) -> None:
    server.put(endpoint_slice("a", [endpoint(ONE), endpoint(TWO, ready=False)]), endpoint_slice("b", [endpoint(THREE)]))
    async with following() as here:
        await here.sees(ONE, THREE)


async def test_nothing_at_the_start() -> None:
    async with following() as here:
        await eventually(lambda: here.age < 0.01, lambda: here.age)
        assert here.ready == []


async def test_changes_come_at_once(server: ApiServer) -> None:
    async with following() as here:
        await here.sees()
        await eventually(lambda: server.watches, lambda: "no watch")
        server.put(endpoint_slice("a", [endpoint(ONE)]))
        assert await here.sees(ONE) < PROMPT
        server.put(endpoint_slice("a", [endpoint(ONE), endpoint(TWO)]))
        assert await here.sees(ONE, TWO) < PROMPT
        server.put(endpoint_slice("a", [endpoint(ONE, ready=False), endpoint(TWO)]))
        assert await here.sees(TWO) < PROMPT
        server.put(endpoint_slice("b", [endpoint(THREE)]))
        assert await here.sees(TWO, THREE) < PROMPT
        server.remove(NAMESPACE, "a")
        assert await here.sees(THREE) < PROMPT
        assert here.errors == {}
        assert sum("watch=true" not in request.lower() for request in server.requests) == 1


async def test_a_terminating_replica_finishes_what_it_has(server: ApiServer) -> None:
    server.put(endpoint_slice("a", [endpoint(ONE, "p")]))
    async with following() as here:
        await here.sees(ONE)
        lease, replica = here.lease()
        server.put(endpoint_slice("a", [terminating(ONE, "p")]))
        await here.sees()
        assert replica.state == "draining"
        assert list(here.pool.replicas.values()) == [replica]
        server.remove(NAMESPACE, "a")
        lease.release()
        assert here.pool.replicas == {}
        assert here.dismissed == [replica]


@pytest.mark.parametrize("busy", [True, False])
async def test_a_pod_that_moves_to_another_slice_stays_who_it_is(server: ApiServer, busy: bool) -> None:
    """Also if for a moment it is in neither, which is how the changes to two objects may come."""
    server.put(endpoint_slice("a", [endpoint(ONE, "p"), endpoint(TWO, "q")]))
    async with following() as here:
        await here.sees(ONE, TWO)
        known = set(here.pool.replicas.values())
        leases = [here.lease() for _ in range(3 if busy else 0)]
        server.put(endpoint_slice("b", [endpoint(TWO, "q")]), endpoint_slice("a", [endpoint(ONE, "p")]))
        server.put(endpoint_slice("b", [endpoint(TWO, "q"), endpoint(THREE, "r")]))
        await here.sees(ONE, TWO, THREE)
        server.put(endpoint_slice("a", []))
        await here.sees(TWO, THREE)
        server.put(endpoint_slice("c", [endpoint(ONE, "p")]))
        await here.sees(ONE, TWO, THREE)
        assert known < set(here.pool.replicas.values())
        assert len(here.adopted) == 3
        assert here.dismissed == []
        assert sum(replica.inflight for replica in known) == here.pool.inflight == len(leases)


async def test_an_idle_replica_that_is_gone_is_forgotten_soon(server: ApiServer) -> None:
    server.put(endpoint_slice("a", [endpoint(ONE)]))
    async with following() as here:
        await here.sees(ONE)
        server.remove(NAMESPACE, "a")
        await here.sees()
        await eventually(lambda: here.pool.replicas == {}, lambda: here.pool.replicas)
        assert here.dismissed == here.adopted


async def test_labels_in_place_of_a_service(server: ApiServer) -> None:
    server.put(endpoint_slice("a", [endpoint(ONE)], service="x", labels={"app": "k2"}))
    server.put(endpoint_slice("b", [endpoint(TWO)], service="y", labels={"app": "k2"}))
    server.put(endpoint_slice("c", [endpoint(THREE)]))
    async with following(labels={"app": "k2"}) as here:
        await here.sees(ONE, TWO)


async def test_bookmarks_keep_the_view_young(server: ApiServer) -> None:
    server.bookmark_seconds = 0.05
    async with following() as here:
        await eventually(lambda: server.watches, lambda: "no watch")
        first = here.pool.confirmed_at
        await eventually(lambda: here.pool.confirmed_at != first, lambda: "no bookmark", 1)


async def test_a_quiet_watch_lets_it_age(server: ApiServer) -> None:
    async with following(resync_seconds=0.6) as here:
        await eventually(lambda: server.watches, lambda: "no watch")
        await eventually(lambda: here.age > 0.3, lambda: here.age)
        await eventually(lambda: here.age < 0.1, lambda: here.age)


async def test_a_port_that_is_not_there_is_told(server: ApiServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        server.put(endpoint_slice("a", [endpoint(ONE)]))
        async with following(port="80") as here:
            await eventually(lambda: "lists http=30000, not 80" in caplog.text, lambda: caplog.text)
            server.put(endpoint_slice("a", [endpoint(ONE), endpoint(TWO)]))
            server.put(endpoint_slice("b", [endpoint(ONE)], ports=[{"name": "x", "port": 80}]))
            await here.sees(f"{ONE}:80")
    assert caplog.text.count("m/baseline: EndpointSlice a lists http=30000, not 80") == 1
    assert "m/baseline: 0 endpoints in 1 EndpointSlices of Service k2-baseline in namespace llm" in caplog.text


class TestSettings:
    async def test_another_service(self, server: ApiServer) -> None:
        """Replicas of both keep their counts, and the old ones serve until the new list has come."""
        server.put(endpoint_slice("a", [endpoint(ONE)]))
        server.put(endpoint_slice("b", [endpoint(ONE), endpoint(TWO)], service="b"))
        async with following() as here:
            await here.sees(ONE)
            lease, replica = here.lease()
            server.faults.delay = 0.3
            here.follow(service="b")
            assert here.ready == [f"{ONE}:30000"]
            await here.sees(ONE, TWO)
            assert here.adopted[0] is replica
            assert len(here.adopted) == 2
            lease.release()
            server.put(endpoint_slice("a", []))
            server.put(endpoint_slice("b", [endpoint(TWO)], service="b"))
            await here.sees(TWO)

    async def test_the_same_again(self, server: ApiServer) -> None:
        async with following() as here:
            await eventually(lambda: server.watches, lambda: "no watch")
            here.follow()
            await asyncio.sleep(0.1)
            assert len(server.requests) == 2, "the watch goes on"

    async def test_static_and_back(self, server: ApiServer) -> None:
        server.put(endpoint_slice("a", [endpoint(ONE)]))
        async with following() as here:
            await here.sees(ONE)
            here.configure(static=[f"http://{TWO}:30000/", f"http://{ONE}:30000"])
            assert here.ready == [f"{ONE}:30000", f"{TWO}:30000"]
            assert here.pool.confirmed_at is None
            server.put(endpoint_slice("a", [endpoint(THREE)]))
            await eventually(lambda: server.watches == 0, lambda: server.watches)
            here.follow()
            await here.sees(THREE)

    async def test_a_pool_that_is_taken_away(self, server: ApiServer) -> None:
        server.put(endpoint_slice("a", [endpoint(ONE)]))
        async with following() as here:
            await here.sees(ONE)
            here.pool.reconfigure(None)
            assert here.pool.replicas == {}
            assert here.pool.confirmed_at is None
            await eventually(lambda: server.watches == 0, lambda: server.watches)

    async def test_stopped_while_it_lists(self, server: ApiServer) -> None:
        server.put(endpoint_slice("a", [endpoint(ONE)]))
        server.faults.delay = 0.5
        async with following() as here:
            await eventually(lambda: server.requests, lambda: "no request")
        assert here.ready == []
