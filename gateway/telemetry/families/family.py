"""What a metric is: name, type, labels, unit and meaning, for /metrics and for docs/metrics.md alike."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

Kind = Literal["counter", "gauge", "histogram"]
_BASE_UNITS = ("seconds", "bytes")
_NO_VALUES: Mapping[str, str] = MappingProxyType({})


class Label(NamedTuple):
    """`values`: all there can be, each with what its name leaves open; empty where they are configured or found."""

    name: str
    values: Mapping[str, str] = _NO_VALUES


def one_of(name: str, values: Iterable[str], **remarks: str) -> Label:
    """A label with a closed set of values."""
    return Label(name, {value: remarks.get(value, "") for value in values})


class Family(NamedTuple):
    """A metric with all its labels.

    `name` as it is exposed, a counter's with `_total`. `about` is its HELP. `more` (Markdown) goes on where the page
    has room, `advice` says when to look at it. `bounds` are a histogram's. `of` is what it counts, where its name has
    no unit.
    """

    name: str
    kind: Kind
    about: str
    labels: tuple[Label, ...] = ()
    of: str = ""
    more: str = ""
    advice: str = ""
    bounds: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The labels' names."""
        return tuple(label.name for label in self.labels)

    @property
    def unit(self) -> str:
        """What the value is in."""
        words = self.name.removesuffix("_total").rsplit("_", 1)
        return self.of or (words[-1] if words[-1] in _BASE_UNITS else "")

    @property
    def described(self) -> tuple[str, str, tuple[str, ...]]:
        """Name, help and labels as prometheus-client wants them: it adds `_total` itself."""
        return self.name.removesuffix("_total"), self.about, self.names

    def gauge(self) -> GaugeMetricFamily:
        """Without samples yet."""
        name, about, names = self.described
        return GaugeMetricFamily(name, about, labels=names)

    def counter(self) -> CounterMetricFamily:
        """Without samples yet."""
        name, about, names = self.described
        return CounterMetricFamily(name, about, labels=names)


class Chapter(NamedTuple):
    """Families under a heading of the page, with what is to be said of them all."""

    title: str
    families: tuple[Family, ...]
    about: str = ""
