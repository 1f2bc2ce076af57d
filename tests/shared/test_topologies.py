"""Sentinel, Cluster, TLS, ACL, Valkey: real servers, started as they would be, on the loopback."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import trustme

from tests.shared.fleet import Fleet, fleet
from tests.shared.topologies import cluster, sentinels
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


async def test_a_certificate_that_runs_out(engine_thread: EngineThread, tmp_path: Path) -> None:
    """Connections last; none can be made until there is a new one, which nobody need restart for."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    now = datetime.now(UTC)
    for name, ends in (("valid", now + timedelta(days=1)), ("expired", now - timedelta(days=1))):
        issued = authority.issue_cert("127.0.0.1", not_before=now - timedelta(days=2), not_after=ends)
        issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / f"{name}.pem")
    pem = str(tmp_path / "valid.pem")
    options = ("--tls-cert-file", pem, "--tls-key-file", pem, "--tls-ca-cert-file", str(tmp_path / "ca.pem"))
    client: dict[str, Any] = {"ssl": True, "ssl_ca_certs": str(tmp_path / "ca.pem")}
    with redis_server(*options, "--tls-auth-clients", "no", **client) as server, server.client() as admin:
        settings = section(server, tls={"ca_file": str(tmp_path / "ca.pem")})
        async with fleet(engine_thread, settings, policy={"threshold": 2}) as here:
            await here.joined()
            assert await here.hold(1) == [UNDER]
            for name in ("expired", "valid"):
                pem = str(tmp_path / f"{name}.pem")
                admin.execute_command("CONFIG", "SET", "tls-cert-file", pem, "tls-key-file", pem)
                if name == "expired":
                    await here.counts_are_right()
                    admin.client_kill_filter(_type="normal", skipme=True)
                    await here.failing("certificate has expired")
            await here.joined()
            await here.counts_are_right()
            assert await here.hold(2) == [UNDER, OVER]


async def test_a_password_that_is_not_given(engine_thread: EngineThread) -> None:
    with redis_server("--requirepass", "s3cret", password="s3cret") as server:
        async with fleet(engine_thread, section(server), gateways=1) as here:
            await here.alone()
            error = here.gateways[0].status()["redis"]["error"]
            assert error.startswith(f"127.0.0.1:{server.port}: NOAUTH ")
            assert "set redis.password" in error


async def test_sentinel_fails_over_while_a_hundred_requests_run(engine_thread: EngineThread) -> None:
    with sentinels() as ((master, replica), watchers):
        settings = section(*watchers, mode="sentinel", service="mymaster", sentinel_password="watch")
        async with fleet(engine_thread, settings, policy={"threshold": 60}) as here:
            await here.joined()
            assert await here.hold(99) == [UNDER] * 60 + [OVER] * 39
            await here.end("speculative")
            await here.counts_are_right()
            master.kill()
            await here.alone()
            # Half of the sixty is each one's share, and both have about as many.
            await here.hold(2)
            await here.eventually(lambda: _address(here) == replica.port, 30.0)
            await here.joined()
            await here.counts_are_right()
            await here.end("speculative", here.holding("speculative") - 59)
            await here.counts_are_right()
            assert await here.hold(2) == [UNDER, OVER]
            await here.release()
            await here.counts_are_right()
            await here.eventually(lambda: not leftovers(replica))


def _address(here: Fleet) -> int:
    return int((here.gateways[0].status()["redis"]["address"] or ":0").rpartition(":")[2])


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
