"""How fast streams were, by the concurrency that they met: what speculation gains at each load."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

# Each band ends at a power of two, so that finding it is one call.
_BANDS = ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+")
_LAST = len(_BANDS) - 1
_LABELS = ("model", "pool", "concurrency")


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
        key = (model, pool, _BANDS[min((concurrency - 1).bit_length(), _LAST)])
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
        tokens = CounterMetricFamily(
            "spillway_stream_tokens",
            "Tokens after the first of finished streams, by the requests that the replica held when they were placed.",
            labels=_LABELS,
        )
        seconds = CounterMetricFamily(
            "spillway_stream_seconds", "From the first to the last byte of the same streams.", labels=_LABELS
        )
        events = CounterMetricFamily(
            "spillway_stream_events", "Events after the first of the same streams.", labels=_LABELS
        )
        for labels, cell in self._cells.items():
            tokens.add_metric(labels, cell.tokens)
            seconds.add_metric(labels, cell.seconds)
            events.add_metric(labels, cell.events)
        upper = GaugeMetricFamily(
            "spillway_concurrency_upper", "The most requests of each band of concurrency.", labels=("concurrency",)
        )
        for band, name in enumerate(_BANDS[:_LAST]):
            upper.add_metric((name,), 1 << band)
        return iter((tokens, seconds, events, upper))
