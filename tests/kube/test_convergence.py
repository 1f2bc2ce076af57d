"""Whatever happens, the view becomes the truth within the re-list interval, and what was told is obeyed at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gateway.config import Kubernetes
from gateway.pools.discovery.api import Api, Drop, Event, Listing, Put
from gateway.pools.discovery.cluster import Cluster
from gateway.pools.discovery.slices import EndpointSlice, Reading
from gateway.pools.discovery.view import View
from tests.kube.apiserver import ApiServer, StatusError
from tests.kube.apiserver.resources import SLICES
from tests.kube.following import Following, eventually, following
from tests.kube.shapes import NAMESPACE, Object, decoded, endpoint, endpoint_slice, terminating

RESYNC, BACKOFF, SLACK = 0.5, 0.2, 0.6
Action = tuple[Any, ...]
Round = tuple[Action, list[Action], float]
HANDOVER, STEP = 0.15, 0.03
ERRORS = (
    StatusError(410, "Expired", "too old resource version"),
    StatusError(429, "TooManyRequests", "slow down"),
    StatusError(500, "InternalError", "etcdserver: no leader"),
    StatusError(401, "Unauthorized", "Unauthorized"),
)


def hosts(slices: Any) -> set[str]:
    view = View(Reading())
    view.replace(slices)
    return {url.removeprefix("http://") for url in view.urls}


class Told:
    """Passes on what the API server says, and keeps what that amounts to."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._slices: dict[str, EndpointSlice] = {}
        self.hosts: set[str] = set()
        self.at = time.monotonic()

    @property
    def query(self) -> str:
        return self._api.query

    def list(self) -> Listing:
        listing = self._api.list()
        self._slices = {piece.metadata.name: piece for piece in listing.slices}
        self._note()
        return listing

    def watch(self, version: str, until: float) -> Iterator[Event]:
        for event in self._api.watch(version, until):
            match event:
                case Put(_, piece):
                    self._slices[piece.metadata.name] = piece
                case Drop(_, name):
                    self._slices.pop(name, None)
            self._note()
            yield event

    def forget_credentials(self) -> None:
        self._api.forget_credentials()

    def interrupt(self) -> None:
        self._api.interrupt()

    def _note(self) -> None:
        now = hosts(self._slices.values())
        if now != self.hosts:
            self.hosts, self.at = now, time.monotonic()


numbers = st.sets(st.integers(1, 5), max_size=4)
names = st.sampled_from(["a", "b", "c"])


@st.composite
def pieces(draw: st.DrawFn) -> Object:
    """Pods 1 to 5 in any slice, so that they also move and are listed twice; some terminate."""
    listed = [
        draw(st.sampled_from([endpoint, endpoint, terminating]))(f"10.0.0.{number}", f"p{number}")
        for number in sorted(draw(numbers))
    ]
    return endpoint_slice(draw(names), listed)


def drop(server: ApiServer, events: Callable[[Object], bool] | None) -> None:
    server.faults.drops = events


SIMPLE: dict[str, Callable[[ApiServer], None]] = {
    "silence": lambda server: server.faults.silence(),
    "cut": lambda server: server.cut(),
    "compact": lambda server: server.store.compact(),
    "garble": lambda server: server.faults.garble_watches(),
    "drop all": lambda server: drop(server, lambda _: True),
    "drop deletions": lambda server: drop(server, lambda event: event["type"] == "DELETED"),
    "drop none": lambda server: drop(server, None),
}
verbs = st.sampled_from(["list", "watch", "any"])
troubles = st.one_of(
    st.tuples(st.sampled_from(sorted(SIMPLE))),
    st.tuples(st.just("fail"), st.sampled_from(ERRORS)),
    st.tuples(st.just("refuse"), st.sampled_from(ERRORS), verbs, st.integers(1, 3)),
    st.tuples(st.just("restart"), st.booleans(), st.sampled_from([0.0, 0.2])),
)
changes = st.one_of(
    st.tuples(st.just("put"), pieces()),
    st.tuples(st.just("put"), pieces()),
    st.tuples(st.just("remove"), names),
)
# Something goes wrong, then something changes.
rounds = st.lists(
    st.tuples(troubles, st.lists(changes, min_size=1, max_size=2), st.sampled_from([0.0, 0.05, 0.3])),
    min_size=1,
    max_size=4,
)


async def act(server: ApiServer, action: Action) -> None:
    match action:
        case "put", piece:
            server.put(piece)
        case "remove", name:
            with suppress(StatusError):
                server.remove(NAMESPACE, name)
        case "fail", error:
            server.faults.fail_watches(error)
        case "refuse", error, verb, times:
            server.faults.refuse(error, verb, times)
        case "restart", compact, away:
            await asyncio.to_thread(server.restart, compact=compact, away=away)
        case (simple,):
            SIMPLE[simple](server)


@asynccontextmanager
async def admitting(here: Following, told: list[Told]) -> AsyncIterator[None]:
    """All the while, admit requests, some of which last, and look where they go."""

    async def admit() -> None:
        held = []
        while True:
            await asyncio.sleep(0.005)
            if not here.pool.ready:
                continue
            lease, replica = here.lease()
            [known] = told
            if replica.label not in known.hosts:
                assert time.monotonic() - known.at < HANDOVER, f"{replica.label} was gone for a while"
            held.append(lease)
            if len(held) > 8:
                held.pop(len(held) // 2).release()
            assert sum(it.inflight for it in here.pool.replicas.values()) == here.pool.inflight == len(held)

    task = asyncio.create_task(admit())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("convergence")


@settings(max_examples=20, phases=[Phase.generate])
@given(start=st.lists(pieces(), max_size=3), happening=rounds)
def test_any_happenings(folder: Path, start: list[Object], happening: list[Round]) -> None:
    with ApiServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(server.kubeconfig(folder / "kubeconfig", namespace=NAMESPACE)))
        server.put(*start)
        asyncio.run(converges(server, happening))


async def converges(server: ApiServer, happening: list[Round]) -> None:
    told: list[Told] = []

    def telling(given: Kubernetes) -> Api:
        told.append(Told(Cluster(given)))
        return told[-1]

    pace = {"resync_seconds": RESYNC, "backoff_max_seconds": BACKOFF}
    async with following(telling, **pace) as here, admitting(here, told):
        await eventually(lambda: server.watches, lambda: "no watch")
        await eventually(lambda: set(here.ready) == truth(server), lambda: here.ready)
        for trouble, changed, pause in happening:
            for action in (trouble, *changed):
                await act(server, action)
                await asyncio.sleep(STEP)
            await asyncio.sleep(pause)
        server.faults.heal()
        wait = RESYNC + BACKOFF + SLACK
        await eventually(
            lambda: set(here.ready) == truth(server), lambda: f"{here.ready}, not {truth(server)}: {happening}", wait
        )
        await asyncio.sleep(STEP)
        assert set(here.ready) == truth(server)


def truth(server: ApiServer) -> set[str]:
    items = server.store.items(SLICES, NAMESPACE)
    return hosts(decoded(item, item["metadata"]["resourceVersion"]) for item in items)
