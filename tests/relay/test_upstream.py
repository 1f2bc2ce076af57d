"""The connections to one replica: reused while fresh, closed when idle for long, broken when the engine hangs."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from gateway.config import PoolConfig
from gateway.pools import Replica
from gateway.relay import Connections
from gateway.relay.engine import EngineConnection, EngineError
from gateway.relay.upstream import Upstream
from tests.models.fleet import Clock
from tests.relay.wiretap import Taken
from tests.support.behaviours import End, play
from tests.support.engine import FakeEngine
from tests.support.exchange import Gate
from tests.support.threads import EngineThread
from tests.support.wire import head, json_reply


def replica(url: str) -> Replica:
    return Replica(url, PoolConfig.model_validate({"discovery": {"static": [url]}}))


class Site:
    """An engine, and the connections to it by a clock that stands still."""

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        self.clock = Clock()
        self.upstream = Upstream(replica(engine.url), self.clock)

    async def request(self, connection: EngineConnection | None = None) -> tuple[EngineConnection, Taken]:
        """Send one, on a kept connection if there is one."""
        connection = connection or self.upstream.reuse() or await self.upstream.connect(1)
        taken = Taken()
        connection.send(b"GET /v1/x HTTP/1.1\r\nhost: x\r\n\r\n", b"", taken)
        return connection, taken

    async def answered(self, connection: EngineConnection | None = None) -> EngineConnection:
        connection, taken = await self.request(connection)
        await until(lambda: taken.over)
        assert taken.ended, taken.error
        return connection


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 3
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.002)


@pytest.fixture
def here(engine_thread: EngineThread) -> Iterator[Site]:
    with engine_thread.engines() as [engine]:
        engine.respond = play(json_reply(200, {}))
        made = Site(engine)
        yield made
        made.upstream.close()


async def test_a_connection_is_kept_and_reused(here: Site) -> None:
    assert here.upstream.reuse() is None
    first = await here.answered()
    assert here.upstream.reuse() is first
    assert here.upstream.reuse() is None
    assert here.engine.connections_made == 1


async def test_the_newest_is_reused_first(here: Site) -> None:
    """The others get the chance to grow old."""
    connections = [await here.upstream.connect(1) for _ in range(3)]
    for connection in connections:
        await here.answered(connection)
    assert here.upstream.reuse() is connections[2]
    assert here.upstream.reuse() is connections[1]


@pytest.mark.parametrize(("seconds", "kept"), [(3.9, True), (4.1, False)])
async def test_one_that_was_idle_for_long_is_closed(here: Site, seconds: float, kept: bool) -> None:
    first = await here.answered()
    here.clock.now += seconds
    assert (here.upstream.reuse() is first) is kept
    if not kept:
        await until(lambda: here.engine.open_connections == 0)


async def test_one_that_the_engine_closed_is_not_reused(here: Site) -> None:
    first = await here.answered()
    await here.engine.drop_connections()
    await until(lambda: not first.usable)
    assert here.upstream.reuse() is None


@pytest.mark.parametrize(
    "how", [(End.CLOSE,), (json_reply(200, {}) + b"stray",), (b"HTTP/1.0 200 OK\r\n\r\n", End.CLOSE)]
)
async def test_one_that_is_out_of_step_is_not_reused(here: Site, how: tuple[bytes | End, ...]) -> None:
    here.engine.script.append(play(*how))
    connection, taken = await here.request()
    await until(lambda: taken.over)
    assert here.upstream.reuse() is None
    assert not connection.usable


async def test_not_too_many_are_kept(here: Site) -> None:
    for connection in [await here.upstream.connect(2) for _ in range(260)]:
        await here.answered(connection)
    await until(lambda: here.engine.open_connections == 256)


async def test_once_closed_it_keeps_none(here: Site) -> None:
    """What is in use goes on to its end."""
    idle = await here.answered()
    gate = Gate()
    here.engine.script.append(play(gate, json_reply(200, {})))
    _, taken = await here.request(await here.upstream.connect(1))
    here.upstream.close()
    assert not idle.usable
    gate.open()
    await until(lambda: taken.ended)
    await until(lambda: here.engine.open_connections == 0)
    assert here.upstream.reuse() is None


async def test_progress_grows_with_every_read(here: Site) -> None:
    assert here.upstream.progress() == 0
    first = await here.answered()
    assert here.upstream.progress() == 1
    await here.answered(here.upstream.reuse())
    assert here.upstream.progress() == 2
    gate = Gate()
    here.engine.script.append(play(head(200, (("content-length", "4"),)), 0.02, b"ab", gate, b"cd"))
    _, taken = await here.request()
    await until(lambda: taken.body == b"ab")
    before = here.upstream.progress()
    assert before > 2
    gate.open()
    await until(lambda: taken.ended)
    assert here.upstream.progress() > before
    first.close()
    await until(lambda: here.engine.open_connections == 0)
    assert here.upstream.progress() > before, "what was read stays read"


async def test_a_hung_engine_has_all_its_connections_broken(here: Site) -> None:
    kept = await here.answered(await here.upstream.connect(1))
    here.engine.respond = play(End.HANG)
    waiting = [(await here.request(await here.upstream.connect(1)))[1] for _ in range(3)]
    here.upstream.abort_active()
    assert all(isinstance(taken.error, EngineError) for taken in waiting)
    assert all(taken.error and taken.error.answered for taken in waiting), "not for want of a fresh connection"
    assert not kept.usable
    await until(lambda: here.engine.open_connections == 0)


async def test_refused(here: Site) -> None:
    await here.engine.kill()
    with pytest.raises(EngineError, match="refused"):
        await here.upstream.connect(1)


async def test_no_connection_in_time() -> None:
    """A listener that accepts nobody, and whose line is full, does not answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        upstream = Upstream(replica(f"http://127.0.0.1:{full.getsockname()[1]}"), time.monotonic)
        connecting = [upstream.connect(0.2) for _ in range(5)]
        results = await asyncio.gather(*connecting, return_exceptions=True)
        failures = [result for result in results if isinstance(result, EngineError)]
        assert failures
        assert all("within 0.2 s" in str(failure) for failure in failures)
        upstream.abort_active()


@pytest.mark.parametrize(
    ("url", "host", "prefix"),
    [
        ("http://10.0.0.1:30000", b"host: 10.0.0.1:30000\r\n", b""),
        ("http://engine.svc/base/", b"host: engine.svc\r\n", b"/base"),
        ("https://[::1]:8443", b"host: [::1]:8443\r\n", b""),
    ],
)
def test_where_requests_go(url: str, host: bytes, prefix: bytes) -> None:
    upstream = Upstream(replica(url), time.monotonic)
    assert (upstream.host_header, upstream.prefix) == (host, prefix)


async def test_connections_by_replica(here: Site) -> None:
    connections, one, other = Connections(time.monotonic), replica(here.engine.url), replica("http://other:1")
    assert connections.of(one) is connections.of(one)
    assert connections.of(one) is not connections.of(other)
    assert connections.progress(replica("http://unknown:1")) == 0
    connections.abort(replica("http://unknown:1"))
    first = connections.of(one)
    connections.forget(one)
    connections.forget(one)
    assert connections.of(one) is not first
    connections.close()
