"""Replicas that the configuration lists."""

from gateway.config import Discovery
from gateway.pools.pool import Pool


def static_urls(discovery: Discovery) -> tuple[str, ...]:
    """Their base URLs; none where they come from elsewhere."""
    return tuple(url.rstrip("/") for url in discovery.static or ())


class StaticSource:
    """Gives a pool its replicas once."""

    def __init__(self, pool: Pool, discovery: Discovery) -> None:
        """Nothing happens before `start`."""
        self._pool = pool
        self._urls = static_urls(discovery)

    def start(self) -> None:
        """Reconcile the pool."""
        self._pool.reconcile(self._urls)

    def stop(self) -> None:
        """There is nothing to stop."""

    async def ended(self) -> None:
        """There is nothing to wait for."""
