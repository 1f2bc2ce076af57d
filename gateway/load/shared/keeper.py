"""Keeps a link connected: finds the server, connects, joins, and does so again after each failure."""

import asyncio
import logging

from redis.exceptions import RedisClusterException, RedisError

from gateway.config import Redis
from gateway.load.shared.link import Link
from gateway.load.shared.step import TEXT, key_base
from gateway.load.shared.where import Address, locate, patience
from gateway.load.shared.wire import Connection, RedisFailedError, connect

_log = logging.getLogger("spillway")
_FIRST_PAUSE = 0.05


class Keeper:
    """One link's connection, from its making to `close`. `address`: the server spoken to last."""

    def __init__(self, link: Link, settings: Redis, client: str) -> None:
        """`client` is what Redis lists the connection as."""
        self.address: Address | None = None
        self._link = link
        self._settings = settings
        self._client = client
        self._task = asyncio.create_task(self._run(), name=f"redis {link.model}")

    async def close(self) -> None:
        """Take leave of Redis, within its timeout, and end the connection."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._link.leave()
        self._link.part()

    async def _run(self) -> None:
        loop, link, heartbeat = asyncio.get_running_loop(), self._link, self._settings.heartbeat_seconds
        pause = 0.0
        while True:
            joined = loop.time()
            try:
                connection = await self._connect()
                while True:
                    link.disturbed.clear()
                    await link.join(connection)
                    joined = loop.time()
                    await link.disturbed.wait()
                    if not link.connected:
                        break
            except TimeoutError:
                link.fail("timeout", "no answer in time")
            except (RedisFailedError, RedisError, RedisClusterException) as error:
                link.fail("error", str(error))
            except OSError as error:
                link.fail("connection", error.strerror or str(error))
            except Exception as error:
                _log.exception("redis: the counts of %s can't be joined", link.model)
                link.fail("error", repr(error))
            # After a time of peace, at once; a server that fails again and again is left alone for longer.
            calm = loop.time() - joined > 2 * heartbeat
            pause = 0.0 if calm else min(max(2 * pause, _FIRST_PAUSE), heartbeat / 2)
            await asyncio.sleep(pause)

    async def _connect(self) -> Connection:
        settings = self._settings
        # Names are resolved and TLS is agreed upon only here: that may take its time, as no request waits for it.
        async with asyncio.timeout(patience(settings)):
            key = f"{key_base(settings.key_prefix, self._link.model)}:counts"
            address = await locate(settings, key)
            connection = await connect(address, settings, TEXT, self._client, self._lost)
        self.address = address
        return connection

    def _lost(self, reason: str) -> None:
        # Whoever waits for an answer to something else than a step hears of it there.
        if self._link.state == "up":
            self._link.fail("connection", reason)
