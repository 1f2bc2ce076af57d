"""Where a pool's replicas are: listed in the configuration, or endpoints in a Kubernetes cluster."""

from gateway.pools.discovery.api import Trouble
from gateway.pools.discovery.discoverer import Discoverer
from gateway.pools.discovery.static import static_urls

__all__ = ["Discoverer", "Trouble", "static_urls"]
