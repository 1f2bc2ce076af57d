"""Where a pool's replicas come from."""

from typing import Annotated, Literal

from pydantic import Field

from .section import Comparison, Contradictions, Section
from .values import BasePath, EngineUrl, KubernetesName, Labels, PodPort, Seconds


class Kubernetes(Section):
    """Endpoints of a Service, or of every EndpointSlice with certain labels, followed as they change."""

    namespace: KubernetesName | None = None
    """Namespace of the EndpointSlices; by default the gateway's own."""
    service: KubernetesName | None = None
    """Service whose endpoints are the replicas; in place of `labels`."""
    labels: Labels | None = None
    """Labels of the EndpointSlices, which have those of their Service; in place of `service`."""
    port: PodPort | None = None
    """Name or number of the pods' port, as the EndpointSlices list it; may be left out where they list one."""
    scheme: Literal["http", "https"] = "http"
    """How the replicas are spoken to."""
    path: BasePath = ""
    """Path that comes before the API's, such as `/engine`."""
    resync_seconds: Seconds = 30.0
    """Seconds after which everything is listed anew: heals what a watch did not tell."""
    timeout_seconds: Seconds = 10.0
    """Seconds the API server may take to accept a connection, and to answer."""
    backoff_max_seconds: Seconds = 30.0
    """Seconds of the longest pause between failed requests to the API server."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._service_or_labels,)

    def _service_or_labels(self) -> Contradictions:
        if self.service is None and self.labels is None:
            yield (), "names nothing to look for: give service or labels"
        if self.service is not None and self.labels is not None:
            yield ("labels",), "can't be given beside service: keep one"


class Discovery(Section):
    """Where a pool's replicas come from: exactly one of these."""

    static: Annotated[tuple[EngineUrl, ...], Field(min_length=1)] | None = None
    """Base URLs of the replicas, such as `http://10.0.0.1:30000`."""
    kubernetes: Kubernetes | None = None
    """Endpoints in a Kubernetes cluster."""

    def comparisons(self) -> tuple[Comparison, ...]:
        return (self._one_source, self._urls_differ)

    def _one_source(self) -> Contradictions:
        if self.static is None and self.kubernetes is None:
            yield (), "says nothing: give static or kubernetes"
        if self.static is not None and self.kubernetes is not None:
            yield ("kubernetes",), "can't be given beside static: keep one"

    def _urls_differ(self) -> Contradictions:
        seen: dict[str, int] = {}
        for index, url in enumerate(self.static or ()):
            first = seen.setdefault(url.rstrip("/"), index)
            if first != index:
                yield ("static", index), f"is the same URL as static[{first}]: list each replica once"
