"""One gateway's line to the counts of one model: hands over what is asked and given back, and keeps them right.

Requests never wait for a send, but for company: what comes in one turn of the event loop, or while enough is on its
way, goes in steps of several. Leases given back ride along. Who has an answer goes on at once: replies are looked for
between the requests that one turn works on, not at its end alone.

An incarnation is a name under which Redis counts the gateway's leases. After whatever leaves in doubt what Redis has
done (no answer in time, a broken connection, an error), and whenever Redis says that it has forgotten the name, the
gateway takes a new one, and has the old one's leases dropped in the step in which it brings its own along. A late
command under an old name so finds nothing to change.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Iterator, Sequence
from time import monotonic

import hiredis

from gateway.config import Redis
from gateway.load.shared.command import pack
from gateway.load.shared.flight import Flight
from gateway.load.shared.parties import Ask, Journal, Owner, State
from gateway.load.shared.step import Script
from gateway.load.shared.timer import Timer
from gateway.load.shared.wire import Connection, RedisFailedError

_log = logging.getLogger("spillway")
# Steps on their way at once; what is asked beyond gathers until one is answered. More of them cost both sides more CPU
# for each request, fewer would have requests wait for a whole round trip.
_AT_ONCE = 2
# Requests that make a step while others are on their way, or where one came so shortly before (seconds) that more will
# come in the same turn of the event loop.
_STEP, _CROWD_SECONDS = 4, 0.0003
# A step is this old (seconds) only where Redis is far away, or has no core to run on.
_URGENT_SECONDS = 0.0005
# Leases given back wait so long (seconds) for a request to ride along with.
_RELEASE_SECONDS = 0.002
# Every so many heartbeats the leases are compared one by one.
_AUDIT_BEATS = 5
# Items of a reply to anything but a beat, which alone keeps a gateway remembered.
_STEP_REPLY = 6
# Old names that may still have something in Redis, which forgets them by itself a little later.
_STALE = 100


class Link:
    """The shared counts of one model. `state`: up, decided by Redis; joining, will be at once; down, decided here.

    `held` are the leases of this gateway, whoever decided: pool and replica by number.
    """

    def __init__(
        self, model: str, settings: Redis, gateway: str, owner: Owner, journal: Journal, names: Iterator[int]
    ) -> None:
        """`gateway` is an id that no other gateway has; `names` has no number twice. Make it in the event loop."""
        self.model = model
        self.state: State = "joining"
        self.since = time.time()
        self.error: str | None = None
        self.gateways = settings.expected_gateways
        self.high = False
        self.held: dict[int, str] = {}
        self.disturbed = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.flight = Flight(loop, settings.timeout_seconds, self._overdue)
        self._settings = settings
        self._gateway = gateway
        self._owner = owner
        self._journal = journal
        self._loop = loop
        self._numbers = itertools.count(1)
        self._names = names
        self._connection: Connection | None = None
        self._script: Script | None = None
        self._stale: list[str] = []
        self._asks: list[Ask] = []
        self._releases: list[int] = []
        self._unadopted: dict[int, str] = {}
        self._asked_at = 0.0
        self._published = -1
        self._beats = 0
        self._heard = 0.0
        self._scheduled = False
        self._refreshed: list[asyncio.Future[None]] = []
        self._beat = Timer(loop, self._live)
        self._late = Timer(loop, self._flush)
        self._hold = Timer(loop, self._stop_holding)
        # The first time the server has to be found and TLS agreed upon.
        self._hold.start(10 * settings.timeout_seconds)

    @property
    def decides(self) -> bool:
        """Whether Redis is to be asked; else the gateway decides by itself."""
        return self.state != "down"

    @property
    def connected(self) -> bool:
        """Whether there is a connection, joined or not."""
        return self._connection is not None

    def lease(self) -> int:
        """A number for a lease that has none yet."""
        return next(self._numbers)

    def ask(self, ask: Ask) -> None:
        """Ask for a lease. Only while `decides`."""
        ask.at = now = monotonic()
        ask.lease = next(self._numbers)
        asks, sent, before, self._asked_at = self._asks, self.flight.steps, self._asked_at, now
        asks.append(ask)
        if self.state != "up" or len(sent) >= _AT_ONCE:
            return
        if len(asks) >= _STEP or not (sent or now - before < _CROWD_SECONDS):
            self._send("step")
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def look(self) -> None:
        """Take in replies that have come, if it is time: between two pieces of work of one turn of the event loop."""
        age = self.flight.due()
        if age and self._connection is not None:
            self._connection.look(urgent=age > _URGENT_SECONDS)

    def adopt(self, lease: int, field: str) -> None:
        """Count a lease that was given without Redis."""
        self.held[lease] = self._unadopted[lease] = field

    def release(self, lease: int) -> None:
        """Give a lease back. Never waits."""
        self.held.pop(lease, None)
        if self._connection is None:
            self._unadopted.pop(lease, None)
            return
        self._releases.append(lease)
        if not (self._scheduled or self._late.running):
            self._late.start(_RELEASE_SECONDS)

    async def refresh(self) -> None:
        """Bring the counts up to date, if Redis says them in time."""
        if self.state == "up":
            done = self._loop.create_future()
            self._refreshed.append(done)
            self._send("beat")
            await asyncio.wait((done,), timeout=self._settings.timeout_seconds)

    async def join(self, connection: Connection) -> None:
        """Take a new name on this connection, and bring along what is held.

        Raises:
            RedisFailedError, TimeoutError: it can't be done now.
        """
        if self._script is not None:
            self._stale.append(self._script.incarnation)
        settings, owner = self._settings, self._owner
        name = f"{self._gateway}.{next(self._names)}"
        script = self._script = Script(settings.key_prefix, self.model, name, settings.expiry_seconds)
        self._connection = connection
        self._heard = monotonic()
        async with asyncio.timeout(settings.timeout_seconds):
            await connection.call(script.hello())
        held, stale = dict(self.held), tuple(self._stale)
        self._unadopted.clear()
        self._releases.clear()
        self._published = owner.version()
        step = script.step("beat", owner.terms(), forget=stale, adopt=held, views=owner.views())
        async with asyncio.timeout(settings.timeout_seconds + 1e-4 * len(held)):
            reply = (await connection.call(step))[0]
        if not isinstance(reply, list) or reply[0] != "ok":
            raise RedisFailedError("it forgot this gateway at once")
        del self._stale[: len(stale)]
        self._take(reply)
        self._set("up", None)
        self._beat.start(settings.heartbeat_seconds)
        self._flush()

    async def leave(self) -> None:
        """Give up all that is held, if Redis takes note in time; if not, silence will do it. Who waits decides here."""
        connection, script = self._connection, self._script
        self.state = "down"
        self._hand_back()
        if connection is not None and script is not None:
            step = script.step("step", self._owner.terms(), forget=(*self._stale, script.incarnation))
            try:
                async with asyncio.timeout(self._settings.timeout_seconds):
                    await connection.call(step)
            except (RedisFailedError, TimeoutError):
                return

    def part(self) -> None:
        """End the connection. Whatever was on its way is in doubt."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._script is not None:
            self._stale = [*self._stale, self._script.incarnation][-_STALE:]
            self._script = None
        self.flight.stop()
        for timer in (self._beat, self._late, self._hold):
            timer.stop()

    def fail(self, kind: str, reason: str) -> None:
        """Go on without Redis: whoever waits for it decides here."""
        self._journal.failed(self.model, kind)
        self.part()
        self._set("down", reason)
        self._releases.clear()
        self._unadopted.clear()  # `held` has them, for when Redis is back.
        self._hand_back()
        self.flight.steps.clear()
        self.disturbed.set()

    def _hand_back(self) -> None:
        """What is asked and unanswered is decided here; a reply that comes all the same finds nobody waiting."""
        asks = self.flight.disown() + self._asks
        self._asks = []
        for ask in asks:
            ask.unanswered()

    def _forgotten(self, asks: Sequence[Ask]) -> None:
        """Redis has dropped our leases, and done nothing since: come back under another name, and ask again."""
        self._asks = [*asks, *self._asks]
        if self.state == "up":
            self._journal.forgotten(self.model, monotonic() - self._heard, len(self.held))
            self._set("joining", None)
            self._beat.stop()
            self._hold.start(self._settings.timeout_seconds)
            self.disturbed.set()

    def _stop_holding(self) -> None:
        if self.state == "joining":
            self._set("down", "no answer in time")
            asks, self._asks = self._asks, []
            for ask in asks:
                ask.unanswered()

    def _set(self, state: State, error: str | None) -> None:
        self.error = error
        if state != "joining":
            self._hold.stop()
        if state != self.state:
            self.state, self.since = state, time.time()
            self._journal.changed()
            self._owner.link_changed()

    def _live(self) -> None:
        self._beats += 1
        self._beat.start(self._settings.heartbeat_seconds)
        self._send("audit" if self._beats % _AUDIT_BEATS == 0 else "beat")

    def _flush(self) -> None:
        """Send what has gathered, unless enough is on its way."""
        self._scheduled = False
        gathered = self._asks or self._releases or self._unadopted
        if gathered and self.state == "up" and len(self.flight.steps) < _AT_ONCE:
            self._send("step")

    def _send(self, what: str) -> None:
        owner, script, connection = self._owner, self._script, self._connection
        if script is None or connection is None or self.state != "up":
            return
        version, terms = owner.version(), owner.terms()
        asks, self._asks = self._asks, []
        adopt, release = self._unadopted, self._releases
        if version == self._published and what == "step" and not adopt:
            packed = script.brief(terms, release, asks)
        else:
            views = None
            if version != self._published or what == "audit":
                views, self._published = owner.views(), version
            packed = pack(script.step(what, terms, adopt=adopt, views=views, release=release, asks=asks))
            adopt.clear()
        release.clear()
        if self._late.running:
            # It would wake an idle gateway once for each request, to find nothing left to send.
            self._late.stop()
        self.flight.add(asks, packed)
        connection.send(packed, self._replied)

    def _replied(self, reply: object) -> None:
        if not isinstance(reply, list):
            self._refused(reply)
            return
        sent, asks, _ = self.flight.landed()
        if reply[0] != "ok":
            self._forgotten(asks)
            return
        # Those who have their answers go on at once, and take their time: what has gathered comes first. Leases given
        # back wait on for a request to ride along with, unless their time was over before there was room.
        if self._asks or self._unadopted or (self._releases and not (self._late.running or self._scheduled)):
            self._flush()
        at = 0
        try:
            self.high = bool(reply[1])
            if asks:
                answers, held, now = reply[5], self.held, monotonic()
                for at, ask in enumerate(asks):
                    case, url = answers[2 * at], answers[2 * at + 1]
                    if url:
                        held[ask.lease] = f"{ask.letters[case]} {url}"
                    self._journal.waited(self.model, now - ask.at)
                    ask.answered(case, url)
                at = len(asks)
            if len(reply) > _STEP_REPLY:
                self._heard = sent
                self._take(reply)
                self._flush()
        except Exception as error:
            _log.exception("redis: an answer about %s can't be made use of", self.model)
            self._asks = [*asks[at:], *self._asks]
            for ask in asks[at:]:
                self.held.pop(ask.lease, None)
            self.fail("error", f"an answer can't be made use of: {error!r}")

    def _refused(self, reply: object) -> None:
        text = str(reply)
        if isinstance(reply, hiredis.ReplyError) and text.startswith("NOSCRIPT") and self._connection and self._script:
            # Its scripts were flushed, so that nothing of this step was done: say it again with the whole script.
            self._connection.send(self._script.unabridged(self.flight.again()), self._replied)
            return
        self.fail("error", text)

    def _take(self, reply: list[object]) -> None:
        """What the reply to a beat says of the whole."""
        _, high, _, _, gateways, _, counts, *audited = reply
        self.high = bool(high)
        self.gateways = max(int(str(gateways)), 1)
        assert isinstance(counts, list)
        self._owner.counted(dict(zip(counts[::2], map(int, counts[1::2]), strict=True)))
        for done in self._refreshed:
            if not done.done():
                done.set_result(None)
        self._refreshed.clear()
        for there in audited:
            assert isinstance(there, list)
            self._reconcile({int(lease) for lease in there})

    def _reconcile(self, there: set[int]) -> None:
        """Put right what Redis and we hold for ours. Repeating what is on its way does no harm."""
        self._releases += there - self.held.keys()
        self._unadopted |= {lease: self.held[lease] for lease in self.held.keys() - there}

    def _overdue(self) -> None:
        self.fail("timeout", f"no answer within {self._settings.timeout_seconds:g} s")
