"""One request and its response without any socket: bytes and times go in, a sample comes out."""

from itertools import pairwise

import httptools
import msgspec

from loadtest.client.events import DONE, Event, EventParser, decode_event
from loadtest.client.sample import Outcome, Sample
from loadtest.client.target import Ask

DETAIL_BYTES = 300
_POOL, _REPLICA, _REASON = b"x-spillway-pool", b"x-spillway-replica", b"x-spillway-reason"


class Exchange:
    """Fed by a driver: `sent`, then `feed` for each read until `done`, or `eof`, `refused` or `timed_out`.

    `now` is always a time of `time.perf_counter`, taken as soon as the bytes were there.
    """

    def __init__(self, ask: Ask, scheduled: float) -> None:
        self.done = False
        self.reusable = False  # whether the connection may carry another request
        self._ask = ask
        self._scheduled = scheduled
        self._now = scheduled
        self._sent: float | None = None
        self._times: list[float] = []
        self._parser = httptools.HttpResponseParser(self)
        self._events = EventParser()
        self._headers: dict[bytes, bytes] = {}
        self._status = 0
        self._streamed = False
        self._body = b""
        self._usage = (0, 0)
        self._counted = False
        self._finished = False  # the event that ends a stream was there
        self._outcome = Outcome.OK
        self._detail = ""
        self._text: list[str] = []

    def sent(self, now: float) -> None:
        """The request is on its way."""
        self._sent = self._now = now
        if self._ask.cancel_after == 0:
            self._end(Outcome.CANCELLED, "before the first event")

    def feed(self, data: bytes, now: float) -> None:
        """Takes what was read."""
        self._now = now
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self.done:
                self._end(Outcome.BROKEN, f"not HTTP: {error}")

    def eof(self, now: float, detail: str = "the connection was closed") -> None:
        """The connection is gone. That ends a response without a length, and breaks any other."""
        if self.done:
            return
        self._now = now
        framed = b"content-length" in self._headers or b"transfer-encoding" in self._headers
        if self._status and not framed:
            self.on_message_complete()
        else:
            where = "after the head" if self._status else "before the head"
            events = len(self._times)
            self._end(Outcome.BROKEN, f"{detail} {f'after {events} events' if events else where}")

    def refused(self, now: float, detail: str) -> None:
        """No connection could be made."""
        self._now = now
        self._end(Outcome.CONNECT, detail)

    def timed_out(self, now: float, seconds: float) -> None:
        """It took longer than it may."""
        self._now = now
        self._end(Outcome.TIMEOUT, f"not done after {seconds:g} s")

    def sample(self) -> Sample:
        """What there is to say of it once it is done."""
        tokens, prompt_tokens = self._usage
        times = self._times
        return Sample(
            outcome=self._outcome,
            scheduled=self._scheduled,
            end=self._now,
            sent=self._sent,
            first=times[0] if times else None,
            last=times[-1] if times else None,
            status=self._status,
            detail=self._detail,
            pool=self._header(_POOL),
            replica=self._header(_REPLICA),
            reason=self._header(_REASON),
            tokens=tokens if self._counted else len(times),
            prompt_tokens=prompt_tokens,
            counted=self._counted,
            events=len(times),
            gaps=tuple(later - earlier for earlier, later in pairwise(times)),
            text="".join(self._text),
        )

    # What httptools calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Knows the status, and whether a stream follows."""
        self._status = self._parser.get_status_code()
        kind = self._headers.get(b"content-type", b"")
        self._streamed = self._status == 200 and kind.startswith(b"text/event-stream")

    def on_body(self, body: bytes) -> None:
        """Looks at the events in a piece of the body, or keeps the beginning of what is no stream."""
        if not self._streamed:
            self._body += body[: DETAIL_BYTES - len(self._body)]
            return
        for data in self._events.feed(body):
            if self.done:
                return
            self._take(data)

    def on_message_complete(self) -> None:
        """The response is whole; decides what it was."""
        if self.done or self._status < 200:
            return
        self.reusable = self._parser.should_keep_alive()
        if self._status == 429:
            self._end(Outcome.REJECTED, self._said())
        elif self._status != 200:
            self._end(Outcome.STATUS, f"{self._status} {self._said()}")
        elif not self._streamed:
            self._end(Outcome.BROKEN, f"no event stream but {self._header(b'content-type') or 'no type'}")
        elif not self._finished:
            self._end(Outcome.BROKEN, f"the stream ended without [DONE] after {len(self._times)} events")
        elif not self._times:
            self._end(Outcome.EMPTY, "no event had content")
        else:
            self._end(Outcome.OK, "")

    def _take(self, data: bytes) -> None:
        if data == DONE:
            self._finished = True
            return
        try:
            event = decode_event(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._end(Outcome.BROKEN, f"an event is no JSON of the expected shape: {error}")
            return
        if event.error is not None:
            self._end(Outcome.ERROR_EVENT, str(event.error)[:DETAIL_BYTES])
            return
        if event.usage is not None:
            self._usage = (event.usage.completion_tokens, event.usage.prompt_tokens)
            self._counted = True
        if any(choice.has_content for choice in event.choices):
            self._content(event)

    def _content(self, event: Event) -> None:
        self._times.append(self._now)
        if self._ask.keep_text:
            self._text.extend(choice.added for choice in event.choices)
        if self._ask.cancel_after is not None and len(self._times) >= self._ask.cancel_after:
            self._end(Outcome.CANCELLED, f"after {len(self._times)} events")

    def _end(self, outcome: Outcome, detail: str) -> None:
        self._outcome, self._detail, self.done = outcome, detail, True
        if outcome not in (Outcome.OK, Outcome.REJECTED, Outcome.STATUS, Outcome.EMPTY):
            self.reusable = False

    def _said(self) -> str:
        return self._body.decode("utf-8", "replace")

    def _header(self, name: bytes) -> str:
        return self._headers.get(name, b"").decode("latin-1")
