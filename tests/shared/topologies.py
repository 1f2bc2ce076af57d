"""Sentinels and clusters of real servers on the loopback."""

import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import redis

from tests.support.redis import RedisServer


@contextmanager
def sentinels() -> Iterator[tuple[list[RedisServer], list[RedisServer]]]:
    """A master with a replica, and three Sentinels that know them as `mymaster`."""
    with tempfile.TemporaryDirectory(prefix="spillway-redis-") as folder, ExitStack() as stack:
        master, replica = (RedisServer(Path(folder)) for _ in range(2))
        for server in (master, replica):
            stack.callback(server.close)
            server.start()
        with replica.client() as client:
            client.replicaof("127.0.0.1", str(master.port))
        watchers = []
        for number in range(3):
            path = Path(folder) / f"sentinel-{number}.conf"
            path.write_text(
                f"sentinel monitor mymaster 127.0.0.1 {master.port} 2\n"
                "sentinel down-after-milliseconds mymaster 500\n"
                "sentinel failover-timeout mymaster 3000\n"
                "user default on >watch ~* &* +@all\n"
                "sentinel sentinel-user default\n"
                "sentinel sentinel-pass watch\n"
            )
            watcher = RedisServer(Path(folder), sentinel=path, password="watch")
            stack.callback(watcher.close)
            watcher.start()
            watchers.append(watcher)
        with watchers[0].client() as client:
            deadline = time.monotonic() + 20
            while client.sentinel_masters()["mymaster"]["num-slaves"] < 1:
                assert time.monotonic() < deadline, "the Sentinels don't find the replica"
                time.sleep(0.1)
        yield [master, replica], watchers


@contextmanager
def silence(count: int) -> Iterator[list[str]]:
    """Addresses at which connections come about and nothing is said."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        yield [f"redis://127.0.0.1:{each.getsockname()[1]}" for each in sockets]


@contextmanager
def cluster(spares: int = 0) -> Iterator[list[RedisServer]]:
    """Three nodes, a third of the slots each, and spare ones that they know."""
    with tempfile.TemporaryDirectory(prefix="spillway-redis-") as folder, ExitStack() as stack:
        made = [_node(Path(folder) / str(number), stack) for number in range(3 + spares)]
        nodes = [node for node, _ in made]
        for number, slots in enumerate(((0, 5460), (5461, 10922), (10923, 16383))):
            _cluster(nodes[number], "ADDSLOTSRANGE", *slots)
        for number, (node, bus) in enumerate(made):
            _cluster(node, "SET-CONFIG-EPOCH", number + 1)
            if number:
                _cluster(nodes[0], "MEET", "127.0.0.1", node.port, bus)
        deadline = time.monotonic() + 20
        while not all(_knows_all(node, len(nodes)) for node in nodes):
            assert time.monotonic() < deadline, "the nodes do not find together"
            time.sleep(0.05)
        yield nodes


@contextmanager
def lone_node() -> Iterator[RedisServer]:
    """A cluster of one, which has all slots."""
    with tempfile.TemporaryDirectory(prefix="spillway-redis-") as folder, ExitStack() as stack:
        node, _ = _node(Path(folder) / "0", stack)
        _cluster(node, "ADDSLOTSRANGE", 0, 16383)
        yield node


def _node(home: Path, stack: ExitStack) -> tuple[RedisServer, int]:
    """A node that knows no other, and the port for the nodes' own connections."""
    home.mkdir()
    bus = RedisServer(home)  # holds that port
    stack.callback(bus.close)
    options = ("--cluster-enabled", "yes", "--cluster-port", str(bus.port), "--cluster-node-timeout", "1000")
    quick = ("--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0")
    node = RedisServer(home, *options, *quick)
    stack.callback(node.close)
    node.start()
    return node, bus.port


def _knows_all(node: RedisServer, nodes: int) -> bool:
    lines = str(_cluster(node, "INFO")).splitlines()
    wanted = {"cluster_state:ok", f"cluster_known_nodes:{nodes}", "cluster_slots_assigned:16384"}
    return wanted <= set(lines)


def myself(node: RedisServer) -> str:
    """A node's name in its cluster."""
    return str(_cluster(node, "MYID"))


class Move:
    """A key's slot on its way from one node to another."""

    def __init__(self, nodes: list[RedisServer], key: str, source: RedisServer, target: RedisServer) -> None:
        self._nodes, self._source, self._target = nodes, source, target
        self._slot = int(_cluster(source, "KEYSLOT", key))

    def begin(self) -> None:
        """All keys go over; the slot is still the source's, which answers ASK."""
        _cluster(self._target, "SETSLOT", self._slot, "IMPORTING", myself(self._source))
        _cluster(self._source, "SETSLOT", self._slot, "MIGRATING", myself(self._target))
        with self._source.client() as client:
            keys = client.execute_command("CLUSTER", "GETKEYSINSLOT", self._slot, 1000)
            client.execute_command("MIGRATE", "127.0.0.1", self._target.port, "", 0, 5000, "KEYS", *keys)

    def end(self) -> None:
        """The slot is the target's; the source answers MOVED."""
        for node in dict.fromkeys((self._target, self._source, *self._nodes)):
            _cluster(node, "SETSLOT", self._slot, "NODE", myself(self._target))


class Hole:
    """A slot that is nobody's, where all must have an owner: the cluster is down."""

    def __init__(self, nodes: list[RedisServer], keeper: RedisServer) -> None:
        self._keeper, self._others = keeper, [node for node in nodes if node is not keeper]
        line = next(line for line in str(_cluster(keeper, "NODES")).splitlines() if "myself" in line)
        self._slot = int(line.split()[8].partition("-")[0])

    def make(self) -> None:
        for node in (self._keeper, *self._others):
            with node.client() as client:
                client.config_set("cluster-require-full-coverage", "yes")
            _cluster(node, "DELSLOTS", self._slot)

    def fill(self) -> None:
        _cluster(self._keeper, "ADDSLOTS", self._slot)


def _cluster(node: RedisServer, *command: str | int) -> Any:
    with node.client() as client:
        return client.execute_command("CLUSTER", *command)


def owner(nodes: list[RedisServer], key: str) -> RedisServer:
    """The node that has a key."""
    for node in nodes:
        with node.client() as client:
            try:
                client.type(key)
            except redis.exceptions.ResponseError:
                continue
            return node
    raise AssertionError(f"no node serves {key}")
