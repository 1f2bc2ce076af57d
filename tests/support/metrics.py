"""A Prometheus exposition, read back by the official parser."""

from prometheus_client.parser import text_string_to_metric_families

Labels = dict[str, str]


class Metrics:
    """One scrape. Raises ValueError on text that is not an exposition."""

    def __init__(self, text: str) -> None:
        self._samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def series(self, name: str, **labels: str) -> list[tuple[Labels, float]]:
        """Every sample of the name whose labels include those given."""
        return [
            (sample.labels, sample.value)
            for sample in self._samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    def total(self, name: str, **labels: str) -> float:
        """Their sum; 0 when there is none."""
        return sum(value for _, value in self.series(name, **labels))
