"""Thousands of endpoints: what one change costs does not grow with the number of the others."""

import time
from collections.abc import Callable

import pytest

from gateway.config import PoolConfig
from gateway.pools import Pool
from gateway.pools.discovery.slices import Reading
from gateway.pools.discovery.view import View
from tests.kube.apiserver import ApiServer
from tests.kube.following import eventually, following
from tests.kube.shapes import decoded, endpoint, endpoint_slice
from tests.models.fleet import Watch, recover

PER_SLICE = 100


def addresses(number: int) -> list[str]:
    return [f"10.0.{number}.{host}" for host in range(PER_SLICE)]


def crowd(slices: int) -> tuple[View, Pool]:
    """A pool of so many slices, all ready."""
    view = View(Reading())
    pool = Pool("m", "baseline", Watch(), lambda: None)
    pool.config = PoolConfig.model_validate({"discovery": {"static": ["http://a:1"]}})
    view.replace(
        decoded(endpoint_slice(f"s{number}", [endpoint(it) for it in addresses(number)])) for number in range(slices)
    )
    pool.reconcile(view.urls)
    recover(pool, *pool.replicas.values())
    return view, pool


def fastest(action: Callable[[], object], times: int = 200) -> float:
    """The seconds it takes where nothing disturbs it."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - started)
    return best


def change(view: View, pool: Pool) -> Callable[[], None]:
    """One endpoint leaves and comes back."""
    whole = decoded(endpoint_slice("s1", [endpoint(it) for it in addresses(1)]))
    less = decoded(endpoint_slice("s1", [endpoint(it) for it in addresses(1)[1:]]))

    def act() -> None:
        pool.reconcile(view.put(less))
        pool.reconcile(view.put(whole))

    return act


def test_a_change_costs_as_much_among_5000_as_among_200() -> None:
    few, many = crowd(2), crowd(50)
    assert (len(few[1].ready), len(many[1].ready)) == (200, 5000)
    assert fastest(change(*many)) < 3 * fastest(change(*few))


def test_an_admission_costs_as_much_among_5000_as_among_200() -> None:
    few, many = crowd(2)[1], crowd(50)[1]

    def admit(pool: Pool) -> Callable[[], object]:
        return lambda: (pool.load(), pool.pick(12345))

    assert fastest(admit(many), 2000) < 3 * fastest(admit(few), 2000)


def test_an_ejection_costs_as_much_among_5000_as_among_200() -> None:
    few, many = crowd(2)[1], crowd(50)[1]

    def flap(pool: Pool) -> Callable[[], None]:
        replica = pool.ready[77]

        def act() -> None:
            replica.health.ready = False
            pool.refresh(replica)
            replica.health.ready = True
            pool.refresh(replica)

        return act

    assert fastest(flap(many)) < 3 * fastest(flap(few))


@pytest.mark.usefixtures("kubeconfig")
async def test_5000_endpoints_of_a_server(server: ApiServer) -> None:
    server.put(*(endpoint_slice(f"s{number}", [endpoint(it) for it in addresses(number)]) for number in range(50)))
    async with following() as here:
        await eventually(lambda: len(here.pool.ready) == 5000, lambda: len(here.pool.ready), 10)
        await eventually(lambda: server.watches, lambda: "no watch")
        server.put(endpoint_slice("s7", [endpoint(it) for it in addresses(7)[1:]]))
        assert await eventually(lambda: len(here.pool.ready) == 4999, lambda: len(here.pool.ready)) < 0.3
