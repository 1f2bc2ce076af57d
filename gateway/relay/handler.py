"""The path of a request: read, admit, attempt, retry before the first byte, deliver, release, record."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from gateway.api.auth import Keys
from gateway.api.errors import JSON, ApiError, ErrorStyle, style_of
from gateway.config import Limits
from gateway.load import QueueFullError
from gateway.models import Ask, Grant, Models
from gateway.pools import Replica
from gateway.relay.attempt import Attempt, Failure
from gateway.relay.budget import RetryBudget
from gateway.relay.call import Call
from gateway.relay.client import Client, ClientGoneError, Message, Receive, Send
from gateway.relay.connections import Connections
from gateway.relay.drive import Alarm
from gateway.relay.endpoints import find_endpoint
from gateway.relay.headers import request_id, traceparent
from gateway.relay.intake import check_type, find_model, read_pin, read_traits
from gateway.relay.watchdog import Watchdog
from gateway.routing import Refusal
from gateway.telemetry import CLIENT_GONE, Marks, Record, Telemetry

_log = logging.getLogger(__name__)
# A first probe takes milliseconds; with this an engine that is slow at it is not taken for one that is away.
_FIRST_PROBE_SECONDS = 2.0
_RETRY_AFTER = ((b"retry-after", b"1"),)


@dataclass(slots=True)
class Settings:
    """What a reload replaces."""

    limits: Limits
    keys: Keys
    closing: bool = False


class Relay:
    """The data plane: a plain ASGI callable."""

    def __init__(
        self,
        models: Models,
        settings: Settings,
        connections: Connections,
        telemetry: Telemetry,
        watchdog: Watchdog,
        budget: RetryBudget,
        suspect: Callable[[Replica], None],
        clock: Callable[[], float],
    ) -> None:
        """`suspect` is told of a replica that failed a request; `clock` gives monotonic seconds."""
        self._models = models
        self._settings = settings
        self._connections = connections
        self._telemetry = telemetry
        self._watchdog = watchdog
        self._budget = budget
        self._suspect = suspect
        self._clock = clock

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """See ASGI, scope `http`."""
        headers = dict(scope["headers"])
        rid = request_id(headers.get(b"x-request-id"))
        record = Record(id=rid.decode(), path=scope["path"][:256], started=self._clock())
        client = Client(scope, receive, send)
        try:
            await self._serve(scope, headers, client, record, rid)
        except ApiError as error:
            record.status, record.error = error.status, error.code
            record.ended = "refused" if error.status < 500 else "failed"
            await _send_error(client, error, rid, style_of(scope["path"]), closing=self._settings.closing)
        except ClientGoneError:
            self._cancelled(record)
        except asyncio.CancelledError:
            record.ended, record.status = "cut_off", record.status or 503
            client.abort()
            raise
        except Exception:
            _log.exception("request %s failed", record.id)
            record.ended, record.status, record.error = "failed", 500, "internal_error"
            if client.started:
                client.abort()
            else:
                failure = ApiError(500, "The gateway failed. Its log has the details.", code="internal_error")
                await _send_error(client, failure, rid, style_of(scope["path"]), closing=True)
        finally:
            client.unwatch()
            self._telemetry.finish(record)

    async def _serve(
        self, scope: Message, headers: dict[bytes, bytes], client: Client, record: Record, rid: bytes
    ) -> None:
        tracing = self._telemetry.tracing
        traced = None if tracing is None else tracing.begin(record, headers)
        endpoint = find_endpoint(scope["path"], scope["method"])
        record.ended = "cancelled_body"
        settings, content_type = self._settings, headers.get(b"content-type", b"")
        settings.keys.check(headers)
        check_type(scope["path"], endpoint, content_type)
        body = client.whole_body(settings.limits)
        if body is None:
            body = await client.body(headers.get(b"content-length"), settings.limits)
        read = self._clock()
        traits = read_traits(endpoint, content_type, body)
        model = find_model(self._models, traits, scope, headers)
        record.model, record.stream = model.config.name, traits.stream
        pinned = read_pin(model, headers)
        client.watch()
        trace = traced or traceparent(headers.get(b"traceparent"))
        call = Call(scope, headers, endpoint, client, record, model, traits, body, pinned, rid, trace)
        self._budget.earn()
        await self._place(call, read)

    async def _place(self, call: Call, read: float) -> None:
        """Attempt until one is delivered. Invariant: at most one lease is held at a time, and none afterwards."""
        record = call.record
        ask = Ask(call.traits.affinity, call.pinned, size=len(call.body))
        while True:
            record.ended = "cancelled_queued"
            asked = self._clock()
            placed = call.model.admit(ask) if call.model.sharing is None else await self._ask(call, ask)
            grant = placed if isinstance(placed, Grant) else await self._wait(call, ask, placed)
            if record.span is not None:
                record.marks = Marks(asked, self._clock(), grant.replica.config.engine)
            try:
                queued = 0.0 if placed is grant else self._clock() - asked
                onward = await self._attempt(call, grant, ask, read + queued)
            finally:
                grant.lease.release()
            if onward is None:
                return
            ask = onward

    async def _attempt(self, call: Call, grant: Grant, ask: Ask, read: float) -> Ask | None:
        """Exchange with the granted replica. Returns what to ask for next, or None if the client has its answer."""
        record = call.record
        record.ended = "cancelled_before_first_byte"
        self._note(record, grant)
        attempt = Attempt(call, grant, self._connections.of(grant.replica), self._watchdog, self._clock)
        try:
            failure = await attempt.start()
            if not ask.tried and attempt.sent:
                record.overhead = max(attempt.sent - read - attempt.connecting, 0.0)
            if failure:
                onward = ask._replace(failed=grant.pool.role, tried=(*ask.tried, grant.replica))
                if self._retries(call, grant, failure, onward):
                    return onward
            elif grant.stay is not None:
                grant.stay.began(self._clock())
            record.ended = "cancelled_streaming"
            broken = await attempt.deliver(self._own_headers(call, grant))
            record.ended = "finished"
            if broken:
                self._broke(record, grant, str(broken))
            return None
        finally:
            if record.marks is not None:
                record.marks.sent = attempt.sent
            attempt.close()

    async def _ask(self, call: Call, ask: Ask) -> Grant | Refusal:
        """Ask for a place where several gateways share their counts.

        Raises:
            ClientGoneError: the client left meanwhile.
        """
        client = call.client
        asking = call.model.ask(ask, client.waker.resume)
        try:
            while asking.placed is None and not client.gone:
                await client.waker.prompted()
            placed = None if client.gone else asking.take()
            if placed is None:
                raise ClientGoneError
            return placed
        finally:
            asking.leave()

    async def _wait(self, call: Call, ask: Ask, refusal: Refusal) -> Grant:
        """Queue for room, or briefly for the first probe of replicas that were just found.

        Raises:
            ApiError: 503 if no replica is ready, 429 if the queue is full or the wait was in vain.
            ClientGoneError: the client left meanwhile.
        """
        model, client = call.model, call.client
        down = refusal is Refusal.DOWN
        if down and not model.expects(ask):
            raise _nothing_ready(call)
        try:
            ticket = model.wait(ask, client.waker.wake)
        except QueueFullError:
            raise _nothing_ready(call) if down else _busy(call, "and its queue is full") from None
        seconds = model.config.policy.queue.timeout
        if down or not model.serves():
            seconds = min(seconds, _FIRST_PROBE_SECONDS)
        alarm = Alarm(asyncio.get_running_loop(), seconds, client.waker.wake)
        taken = False
        try:
            while ticket.grant is None and not (ticket.refused or client.gone or alarm.rung):
                await client.waker.wait()
            if client.gone:
                raise ClientGoneError
            if ticket.grant is not None:
                taken = True
                return ticket.grant
        finally:
            alarm.cancel()
            grant = ticket.leave()
            if grant is not None and not taken:
                grant.lease.release()
        if down or ticket.refused or not model.serves():
            raise _nothing_ready(call)
        raise _busy(call, f"and no place came free within {seconds:g} s")

    def _retries(self, call: Call, grant: Grant, failure: Failure, onward: Ask) -> bool:
        """Take note of a failed attempt. True: try again; False: deliver the engine's own answer.

        Raises:
            ApiError: there is no such answer, and no other attempt is allowed or possible.
        """
        if failure.blames_replica:
            self._blame(grant)
        attempts = len(onward.tried)
        if failure.final and failure.error:
            raise failure.error
        if attempts < self._budget.settings.attempts and call.model.could_admit(onward) and self._budget.spend():
            call.record.retries += 1
            self._telemetry.metrics.retries.add((call.record.model, grant.pool.role, failure.kind))
            return True
        if failure.error:
            raise failure.error
        return False

    def _blame(self, grant: Grant) -> None:
        grant.replica.health.request_failed(self._clock())
        grant.pool.refresh(grant.replica)
        self._suspect(grant.replica)

    def _broke(self, record: Record, grant: Grant, error: str) -> None:
        record.ended, record.error = "broken", error
        self._telemetry.metrics.broken.add((record.model, record.pool))
        self._blame(grant)

    def _own_headers(self, call: Call, grant: Grant) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"x-request-id", call.request_id),
            (b"x-spillway-pool", grant.pool.role.encode()),
            (b"x-spillway-replica", grant.replica.label.encode()),
            (b"x-spillway-reason", grant.reason.encode()),
        ]
        if self._settings.closing:
            headers.append((b"connection", b"close"))
        return headers

    def _note(self, record: Record, grant: Grant) -> None:
        record.pool, record.replica, record.reason = grant.pool.role, grant.replica.label, grant.reason
        record.stay = grant.stay
        record.concurrency = grant.replica.inflight + grant.replica.elsewhere
        self._telemetry.placed(record)

    def _cancelled(self, record: Record) -> None:
        phase = record.ended.removeprefix("cancelled_")
        record.status = record.status or CLIENT_GONE
        self._telemetry.metrics.cancelled.add((phase,))


async def _send_error(client: Client, error: ApiError, rid: bytes, style: ErrorStyle, *, closing: bool) -> None:
    body = error.body(style)
    headers = [
        (b"content-type", JSON),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", rid),
        *error.headers,
    ]
    if closing:
        headers.append((b"connection", b"close"))
    client.unwatch()
    await client.send({"type": "http.response.start", "status": error.status, "headers": headers})
    await client.send({"type": "http.response.body", "body": body, "more_body": False})


def _nothing_ready(call: Call) -> ApiError:
    which = f"the {call.pinned} pool of " if call.pinned else ""
    return ApiError(
        503,
        f"No replica of {which}{call.model.config.name!r} is ready. Try again shortly; /status shows their states.",
        code="no_replica_ready",
        headers=_RETRY_AFTER,
    )


def _busy(call: Call, detail: str) -> ApiError:
    return ApiError(
        429,
        f"Every replica of {call.model.config.name!r} is full {detail}. Try again after the time in Retry-After.",
        code="overloaded",
        headers=_RETRY_AFTER,
    )
