"""How fast streams were, by the concurrency that they met: what speculation gains at each load."""

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from gateway.telemetry.families.labels import BANDS
from gateway.telemetry.families.requests import CONCURRENCY_UPPER, STREAM_EVENTS, STREAM_SECONDS, STREAM_TOKENS

_LAST = len(BANDS) - 1


class _Cell:
    __slots__ = ("events", "seconds", "tokens")

    def __init__(self) -> None:
        self.tokens = self.events = 0
        self.seconds = 0.0


class StreamTable(Collector):
    """Three counters that grow together, as the rates wanted are their quotients. For one thread, as `CounterTable`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register it."""
        self._cells: dict[tuple[str, str, str], _Cell] = {}
        registry.register(self)

    def add(self, model: str, pool: str, concurrency: int, tokens: int, seconds: float, events: int) -> None:
        """Count a stream: the tokens and events after the first, and the time they took."""
        key = (model, pool, BANDS[min((concurrency - 1).bit_length(), _LAST)])
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = _Cell()
        cell.tokens += tokens
        cell.seconds += seconds
        cell.events += events

    def tokens_an_event(self, model: str, pool: str) -> float:
        """The mean over all streams of a pool; 1 before there are any."""
        cells = [cell for labels, cell in self._cells.items() if labels[:2] == (model, pool)]
        events = sum(cell.events for cell in cells)
        return sum(cell.tokens for cell in cells) / events if events else 1.0

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        tokens, seconds, events = STREAM_TOKENS.counter(), STREAM_SECONDS.counter(), STREAM_EVENTS.counter()
        for labels, cell in self._cells.items():
            tokens.add_metric(labels, cell.tokens)
            seconds.add_metric(labels, cell.seconds)
            events.add_metric(labels, cell.events)
        upper = CONCURRENCY_UPPER.gauge()
        for band, name in enumerate(BANDS[:_LAST]):
            upper.add_metric((name,), 1 << band)
        return iter((tokens, seconds, events, upper))
