"""Where the Redis server is that holds a key: asked anew for each connection, as it moves in a failover."""

from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from gateway.config import Redis

Address = tuple[str, int]
_PORT, _SENTINEL_PORT = 6379, 26379


def patience(settings: Redis) -> float:
    """Seconds that finding and reaching a server may take: of all that are asked, one is there."""
    return (6 + 4 * len(settings.urls)) * settings.timeout_seconds


async def locate(settings: Redis, key: str) -> Address:
    """The server to talk to about `key`, asking each Sentinel or node for at most four timeouts.

    Raises:
        redis.exceptions.RedisError: nobody could say.
        OSError: nobody could be reached.
    """
    seconds = 4 * settings.timeout_seconds
    if settings.mode == "sentinel":
        return await _from_sentinels(settings, seconds)
    if settings.mode == "cluster":
        return await _from_cluster(settings, key, seconds)
    return addresses(settings)[0]


def addresses(settings: Redis) -> list[Address]:
    """Hosts and ports of the configured URLs."""
    default = _SENTINEL_PORT if settings.mode == "sentinel" else _PORT
    parts = [urlsplit(url) for url in settings.urls]
    return [(part.hostname or "", part.port or default) for part in parts]


async def _from_sentinels(settings: Redis, seconds: float) -> Address:
    options = _options(settings, seconds, settings.sentinel_username, settings.sentinel_password)
    sentinels = Sentinel(addresses(settings), sentinel_kwargs=options)
    try:
        host, port = await sentinels.discover_master(settings.service or "")
    finally:
        await sentinels.aclose()
    return host, int(port)


async def _from_cluster(settings: Redis, key: str, seconds: float) -> Address:
    nodes = [ClusterNode(host, port) for host, port in addresses(settings)]
    options = _options(settings, seconds, settings.username, settings.password)
    # Whether a slot that nobody has matters to the others is the cluster's to say.
    cluster = RedisCluster(startup_nodes=nodes, require_full_coverage=False, **options)
    try:
        await cluster.initialize()
        node = cluster.get_node_from_key(key)
    finally:
        await cluster.aclose()
    if node is None:
        raise OSError(f"no node of the cluster holds {key}")
    return str(node.host), int(node.port)


def _options(settings: Redis, seconds: float, username: str | None, password: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {
        "username": username,
        "password": password,
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
    }
    if settings.urls[0].startswith("rediss"):
        tls = settings.tls
        options |= {
            "ssl": True,
            "ssl_ca_certs": str(tls.ca_file) if tls.ca_file else None,
            "ssl_cert_reqs": "required" if tls.verify else "none",
            "ssl_check_hostname": tls.verify,
        }
    return options
