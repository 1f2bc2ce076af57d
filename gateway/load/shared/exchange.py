"""A board in Redis for one model: each gateway leaves a text for the others and reads theirs, off the requests' path.

It has a connection of its own: no step on the counts waits behind it. What fails here is tried again a little later,
and nothing else notices.
"""

import asyncio
import hashlib
import logging
from collections.abc import Set
from importlib import resources
from typing import Literal, NamedTuple, Protocol

from redis.exceptions import RedisClusterException, RedisError

from gateway.config import Redis
from gateway.load.shared.command import Command
from gateway.load.shared.step import key_base
from gateway.load.shared.where import locate, patience
from gateway.load.shared.wire import Connection, RedisFailedError, connect

_log = logging.getLogger("spillway")
_TEXT = resources.files(__package__).joinpath("exchange.lua").read_text()
_SHA = hashlib.sha1(_TEXT.encode(), usedforsecurity=False).hexdigest()
# Heartbeats from one exchange to the next.
_BEATS = 2.0


class Note(NamedTuple):
    """A text that another gateway left `age` seconds ago; empty where it was too long to be one's."""

    gateway: str
    age: float
    text: str


class Correspondent(Protocol):
    """Whose texts they are."""

    def news(self) -> str:
        """What to leave now; empty: nothing new."""
        ...

    def told(self, notes: list[Note], others: Set[str]) -> None:
        """What others have left since the last time, the oldest first. `others`: who has anything there."""
        ...


class Exchange:
    """Exchanges every other heartbeat from its making to `close`. Make it in the event loop.

    `state`: up, the last exchange went well; down, it did not, for `error`. `others`: gateways that had a text there.
    """

    def __init__(self, model: str, settings: Redis, gateway: str, kept: float, correspondent: Correspondent) -> None:
        """`kept`: seconds after which a text is dropped that its gateway has not left anew."""
        self.state: Literal["joining", "up", "down"] = "joining"
        self.error: str | None = None
        self.others: Set[str] = frozenset()
        self._model = model
        self._settings = settings
        self._gateway = gateway
        self._kept = int(kept * 1000)
        self._correspondent = correspondent
        self._key = f"{key_base(settings.key_prefix, model)}:learned"
        self._connection: Connection | None = None
        self._text = ""
        self._unsaid = False
        self._known: dict[str, str] = {}
        self._task = asyncio.create_task(self._run(), name=f"redis exchange {model}")

    async def close(self) -> None:
        """End. What was left stays for the others, as long as it is kept."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._part()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(patience(self._settings)):
                    await self._exchange()
                self.state, self.error = "up", None
            except TimeoutError:
                self._fail("no answer in time")
            except (RedisFailedError, RedisError, RedisClusterException) as error:
                self._fail(str(error))
            except OSError as error:
                self._fail(error.strerror or str(error))
            except Exception as error:
                _log.exception("redis: what was learned of %s can't be exchanged", self._model)
                self._fail(repr(error))
            await asyncio.sleep(_BEATS * self._settings.heartbeat_seconds)

    async def _exchange(self) -> None:
        connection = self._connection or await self._connect()
        news = self._correspondent.news()
        self._text = news or self._text
        self._unsaid = self._unsaid or bool(news)
        read = [item for pair in self._known.items() for item in pair]
        text = self._text if self._unsaid else ""
        command: Command = ("EVALSHA", _SHA, 1, self._key, self._gateway, text, self._kept, *read)
        [reply] = await connection.call(command)
        assert isinstance(reply, list)
        here, others, found = reply
        # A server that has lost what was left there is told again.
        self._unsaid = not here and bool(self._text)
        there = frozenset(others)
        known = {gateway: written for gateway, written in self._known.items() if gateway in there}
        notes = []
        for gateway, written, age, text in zip(*(iter(found),) * 4, strict=True):
            known[gateway] = written
            notes.append(Note(gateway, max(int(age) / 1000, 0.0), text))
        notes.sort(key=lambda note: -note.age)
        self._known, self.others = known, there
        self._correspondent.told(notes, there)

    async def _connect(self) -> Connection:
        settings = self._settings
        address = await locate(settings, self._key)
        client = f"spillway-{self._gateway}-learned"
        self._connection = await connect(address, settings, _TEXT, client, self._lost)
        return self._connection

    def _lost(self, reason: str) -> None:
        self._fail(reason)

    def _fail(self, reason: str) -> None:
        self.state, self.error, self.others = "down", reason, frozenset()
        self._part()

    def _part(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
