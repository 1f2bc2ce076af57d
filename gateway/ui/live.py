"""What the page shows, sampled once a second for all who look at it."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec

from gateway.models import Model, Models
from gateway.telemetry import Telemetry
from gateway.ui.requests import median_ttft, shown

_PERIOD = 1.0
_HISTORY = 300
_SHOWN = 40
_encode = msgspec.json.encode

Where = tuple[str, str]


class Live:
    """Samples load and speed, and keeps those of five minutes, so that a page has its charts at once.

    What is sent is made once for all viewers; a slow one misses samples.
    """

    def __init__(
        self,
        models: Models,
        telemetry: Telemetry,
        running: Callable[[], Iterable[tuple[Where, int]]],
        status: Callable[[], dict[str, Any]],
        clock: Callable[[], float],
    ) -> None:
        """`running`: model and pool of each response that is being relayed, and its events so far."""
        self._models = models
        self._telemetry = telemetry
        self._running = running
        self._status = status
        self._clock = clock
        self._history: deque[dict[str, Any]] = deque(maxlen=_HISTORY)
        self._tokens: dict[Where, float] = {}
        self._sampled = clock()
        self._viewers = 0
        self._news = asyncio.Event()
        self._now = b""
        self.closed = False

    async def run(self) -> None:
        """Sample until cancelled."""
        while True:
            self._sample()
            await asyncio.sleep(_PERIOD)

    def close(self) -> None:
        """Send all viewers away, and no more in: a page that is left open must not hold up a shutdown."""
        self.closed = True
        self._tell()

    async def events(self) -> AsyncIterator[bytes]:
        """Server-sent events: `history` once, then `now` each second until `close`."""
        self._viewers += 1
        try:
            yield _event("history", list(self._history))
            self._now = self._now or self._describe()
            while not self.closed:
                yield self._now
                await self._news.wait()
        finally:
            self._viewers -= 1
            if not self._viewers:
                self._now = b""

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _sample(self) -> None:
        self._telemetry.settle()
        now = self._clock()
        seconds, self._sampled = max(now - self._sampled, 0.001), now
        rates = self._rates(seconds)
        ttft = median_ttft(self._telemetry.recent)
        self._history.append(
            {
                "at": round(time.time(), 1),
                "models": {
                    model.config.name: self._measure(model, rates, ttft) for model in self._models.with_requests()
                },
            }
        )
        if self._viewers:
            self._now = self._describe()
            self._tell()

    def _measure(self, model: Model, rates: dict[Where, float], ttft: dict[Where, float]) -> dict[str, Any]:
        name = model.config.name
        return {
            "queued": len(model.queue),
            "pools": {
                role: {
                    "inflight": pool.inflight + pool.elsewhere,
                    "limit": model.limit(role),
                    "tokens": round(rates.get((name, role), 0.0), 1),
                    "ttft": ttft.get((name, role)),
                }
                for role, pool in model.pools.items()
                if pool.config is not None or pool.replicas
            },
        }

    def _rates(self, seconds: float) -> dict[Where, float]:
        """Tokens a second of each pool: those of finished requests, and of running streams by their events."""
        metrics = self._telemetry.metrics
        totals: defaultdict[Where, float] = defaultdict(float)
        for (model, pool, kind), count in metrics.tokens.values.items():
            if kind != "prompt":
                totals[model, pool] += count
        for where, events in self._running():
            totals[where] += events * metrics.streams.tokens_an_event(*where)
        before, self._tokens = self._tokens, totals
        return {where: max(total - before.get(where, total), 0.0) / seconds for where, total in totals.items()}

    def _describe(self) -> bytes:
        recent = self._telemetry.recent
        now = self._clock()
        return _event(
            "now",
            {
                "sample": self._history[-1] if self._history else None,
                "status": self._status(),
                "requests": [shown(record, now) for record in list(recent)[-_SHOWN:][::-1]],
            },
        )


def _event(name: str, value: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(value))
