"""Sentinel, Cluster, TLS, ACL, Valkey: real servers, started as they would be, on the loopback."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import trustme

from tests.shared.fleet import Fleet, fleet
from tests.support import config as files
from tests.support.exchange import Gate
from tests.support.gateway import gateway
from tests.support.redis import RedisServer, leftovers, redis_server, section, valkey
from tests.support.site import CHAT, chat
from tests.support.threads import EngineThread

UNDER, OVER = ("speculative", "under_threshold"), ("baseline", "over_threshold")
ACL = ("user", "spillway", "on", ">s3cret", "~mine:*", "+@connection", "+@scripting", "+@hash", "+@sortedset")
RIGHTS = (*ACL, "+@keyspace", "+time")


async def works(here: Fleet) -> None:
    """Two gateways share a limit of two, and leave nothing behind."""
    await here.joined()
    assert await here.hold(3) == [UNDER] * 2 + [OVER]
    await here.counts_are_right()
    await here.release()
    await here.counts_are_right()


async def test_valkey(engine_thread: EngineThread) -> None:
    with redis_server(binary=valkey()) as server:
        async with fleet(engine_thread, section(server), policy={"threshold": 2}) as here:
            await works(here)
        assert not leftovers(server)


async def test_tls_and_an_acl_user_with_no_more_rights_than_needed(engine_thread: EngineThread, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    pem = str(tmp_path / "server.pem")
    options = ("--tls-cert-file", pem, "--tls-key-file", pem, "--tls-ca-cert-file", str(tmp_path / "ca.pem"))
    client: dict[str, Any] = {"ssl": True, "ssl_ca_certs": str(tmp_path / "ca.pem")}
    with redis_server(*options, "--tls-auth-clients", "no", "--user", *RIGHTS[1:], **client) as server:
        settings = section(
            server,
            username="spillway",
            password="s3cret",
            key_prefix="mine",
            database=3,
            tls={"ca_file": str(tmp_path / "ca.pem")},
        )
        async with fleet(engine_thread, settings, policy={"threshold": 2}) as here:
            await works(here)
            with server.client() as admin:
                assert admin.info("keyspace")["db3"]["keys"] > 0
        advice = "set redis.password"
        mistakes: list[tuple[dict[str, Any], str]] = [
            ({"tls": {}}, ""),
            ({"password": "wrong"}, advice),
            ({"key_prefix": "yours"}, ""),
        ]
        for wrong, remedy in mistakes:
            async with fleet(engine_thread, {**settings, **wrong}, gateways=1) as here:
                await here.alone()
                assert await here.hold(1) == [UNDER]
                error = here.gateways[0].status()["redis"]["error"]
                assert error.startswith(f"{urlsplit(settings['urls'][0]).netloc}: ")
                assert remedy in error


async def test_a_password_that_is_not_given(engine_thread: EngineThread) -> None:
    with redis_server("--requirepass", "s3cret", password="s3cret") as server:
        async with fleet(engine_thread, section(server), gateways=1) as here:
            await here.alone()
            error = here.gateways[0].status()["redis"]["error"]
            assert error.startswith(f"127.0.0.1:{server.port}: NOAUTH ")
            assert "set redis.password" in error


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


async def test_sentinel_fails_over(engine_thread: EngineThread) -> None:
    with sentinels() as ((master, replica), watchers):
        settings = section(*watchers, mode="sentinel", service="mymaster", sentinel_password="watch")
        async with fleet(engine_thread, settings, policy={"threshold": 3}) as here:
            await here.joined()
            assert await here.hold(2) == [UNDER] * 2
            master.kill()
            await here.alone()
            await here.eventually(lambda: _address(here) == replica.port, 30.0)
            await here.joined()
            await here.counts_are_right()
            assert await here.hold(2) == [UNDER, OVER]
            await here.release()
            await here.eventually(lambda: not leftovers(replica))


def _address(here: Fleet) -> int:
    return int((here.gateways[0].status()["redis"]["address"] or ":0").rpartition(":")[2])


@contextmanager
def cluster() -> Iterator[list[RedisServer]]:
    """Three nodes, a third of the slots each."""
    with tempfile.TemporaryDirectory(prefix="spillway-redis-") as folder, ExitStack() as stack:
        nodes = []
        for number in range(3):
            home = Path(folder) / str(number)
            home.mkdir()
            bus = RedisServer(home)  # holds a port for the nodes' own connections
            stack.callback(bus.close)
            options = ("--cluster-enabled", "yes", "--cluster-port", str(bus.port), "--cluster-node-timeout", "1000")
            node = RedisServer(home, *options, "--cluster-require-full-coverage", "no")
            stack.callback(node.close)
            node.start()
            nodes.append(node)
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        making = ["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"]
        subprocess.run(making, check=True, capture_output=True, timeout=60)
        yield nodes


async def test_a_cluster_holds_each_model_on_one_node(engine_thread: EngineThread) -> None:
    names = [f"model-{number}" for number in range(6)]
    with cluster() as nodes, engine_thread.engines(1) as engines:
        pool = files.pool([engines[0].url])
        models = [files.model(pool, pool, name=name) for name in names]
        redis = section(*nodes[:2], mode="cluster", heartbeat_seconds=0.3, expiry_seconds=1.5, timeout_seconds=0.3)
        made = files.config(*models, redis=redis)
        with gateway(made) as first, gateway(made) as second:
            here = Fleet([first, second], [], [], [], Gate())
            await here.joined()
            assert sorted(_model(key) for node in nodes for key in _keys(node)) == names
            assert all(_keys(node) for node in nodes)
            async with httpx.AsyncClient(base_url=first.base_url, trust_env=False) as client:
                for name in names:
                    assert (await client.post(CHAT, json=chat(model=name))).status_code == 200
                nodes[2].kill()
                lost = {model["name"] for model in first.status()["models"]} - {
                    _model(key) for node in nodes[:2] for key in _keys(node)
                }
                assert lost
                await here.eventually(lambda: _local(first.status()) == lost == _local(second.status()))
                for name in names:
                    assert (await client.post(CHAT, json=chat(model=name))).status_code == 200
            nodes[2].start()
            await here.joined()


def _keys(node: RedisServer) -> list[str]:
    with node.client() as client:
        return [key for key in client.scan_iter("spillway:*") if key.endswith(":gateways")]


def _model(key: str) -> str:
    return key.partition("{")[2].partition("}")[0]


def _local(status: dict[str, Any]) -> set[str]:
    return {model["name"] for model in status["models"] if model["source"] == "local"}
