"""How a client's connection ends: by the client, by the clock, or because what it sends can't be served."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.config import Limits
from gateway.server.cors import CrossOrigin
from gateway.server.cycle import Cycle
from gateway.server.refusal import TOO_SLOW, Refusal

_LINGER_SECONDS = 5.0


class EndingProtocol(HttpToolsProtocol):
    """One client connection, as far as its end goes. What is called on its type is set on a subclass of each server.

    `lost`: the client is gone, for the application; `on_lost` is called when that turns true. `head_since`: when the
    head began that is coming now.
    """

    limits: Callable[[], Limits]
    refused: Callable[[int], None]
    taskless: Callable[[str], bool]
    cross_origin: Callable[[], CrossOrigin | None]
    between: Callable[[], None] | None
    cycle: Any  # a Cycle: of the request that came last

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """See uvicorn."""
        super().__init__(*args, **kwargs)
        self.lost = False
        self.on_lost: Callable[[], None] | None = None
        self.head_since: float | None = None
        self.url = b""
        self._answering: Cycle | None = None
        self._head_bytes = 0
        self._idle_since: float | None = None
        self._deaf = False  # what else comes is not read
        self._refusal = b""  # goes out once the requests before it are answered
        self._lingering: asyncio.TimerHandle | None = None

    def close_gently(self) -> None:
        """Close after a response, which may have come before the end of the request's body."""
        if self.cycle is None or not self.cycle.more_body:
            self.transport.close()
        else:
            self._linger()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        super().connection_lost(exc)
        if self._lingering is not None:
            self._lingering.cancel()
        self._lose()

    def eof_received(self) -> Any:  # uvicorn's returns None
        """See asyncio.Protocol. Who sends no more counts as gone: most are, and until an answer begins nothing tells.

        To wait with telling would have engines work for nobody. An answer of the gateway's own, which costs nothing, is
        still sent where half a connection can be kept (TLS knows none). nginx draws the same line.
        """
        cycle = self._answering
        if cycle is None or cycle is not self.cycle or cycle.more_body or cycle.started:
            return False
        if type(self).taskless(cycle.scope["path"]) or not self.transport.can_write_eof():
            return False
        cycle.keep_alive = False
        return True

    def overdue(self, now: float) -> bool:
        """Whether the head of a request, or the next request, has been awaited for too long."""
        since, idle = self.head_since, self._idle_since
        if since is not None:
            return now - since > type(self).limits().header_seconds
        return idle is not None and now - idle > self.timeout_keep_alive

    def time_out(self) -> None:
        """Refuse a head that comes too slowly; a connection that never began one, or is idle, is just closed."""
        if self.transport.is_closing():
            self.transport.abort()  # closed before, and the client has not taken the rest
        elif self._head_bytes == 0 or self.head_since is None:
            self.head_since = None
            self._idle_since = self._idle_since or 0.0
            self.transport.close()
        else:
            self._refuse(TOO_SLOW)

    def _refuse(self, refusal: Refusal) -> None:
        """Turn away what comes now, once what came before it has been answered (RFC 9112, section 9.3.2)."""
        self.head_since = None
        if self._deaf or self.transport.is_closing():
            return
        type(self).refused(refusal.status)
        self._deaf = True
        cycle: Cycle | None = self.cycle
        unfinished = cycle if cycle is not None and cycle.more_body else None
        self._refusal = self._written(refusal, self.headers if unfinished is None else unfinished.scope["headers"])
        if cycle is None or cycle.response_complete:
            self._refusal = b"" if unfinished else self._refusal  # that request has its response
            self._turn_away()
        elif unfinished is None:
            self.flow.resume_reading()  # to hear of the client's loss
        elif unfinished is not self._answering:
            self.pipeline.popleft()
            self.flow.resume_reading()
        elif not unfinished.started:
            self.transport.write(self._refusal)
            self._lose()
            self.transport.close()
        else:
            self.transport.abort()  # its own response is under way: nothing may be written into it

    def _turn_away(self) -> None:
        self.transport.write(self._refusal)
        self._linger()

    def _written(self, refusal: Refusal, sent: Iterable[tuple[bytes, bytes]] | None) -> bytes:
        cross_origin, path = type(self).cross_origin(), self.url.partition(b"?")[0].decode("latin-1")
        headers = () if cross_origin is None else cross_origin.headers(path, sent or ())
        return refusal.response(path, headers)

    def _lose(self) -> None:
        """To the application the client is gone."""
        self.lost = True
        for cycle in (self._answering, self.cycle):
            if cycle is not None:
                cycle.set()
        if self.on_lost is not None:
            self.on_lost()

    def _linger(self) -> None:
        """Close while the client may still be sending.

        Closing with unread bytes resets the connection, and the client may never see the response: so stop writing, and
        read on for a while without looking (as nginx's lingering_close).
        """
        if not self.transport.can_write_eof():
            self.transport.close()
        elif self._lingering is None and not self.transport.is_closing():
            self._deaf = True
            self._lingering = self.loop.call_later(_LINGER_SECONDS, self._linger_no_more)
            self.transport.write_eof()
            self.flow.resume_reading()

    def _linger_no_more(self) -> None:
        if self.transport.get_write_buffer_size():  # what it still takes is bounded as ever: see `overdue`
            self._lingering = self.loop.call_later(_LINGER_SECONDS, self._linger_no_more)
        else:
            self.transport.abort()
