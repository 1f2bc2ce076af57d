"""vllm-project/router (Rust): as it comes, and made as cheap as its options allow."""

from bench.paths import peer
from bench.process import free_port
from bench.proxies.base import Command, Proxy, Site, peer_version


def command(site: Site) -> Command:
    """Its own defaults: a policy that looks at the request, and a log line for it. Spillway does both as well."""
    return Command(
        (
            peer("vllm-router"),
            *("--host", "127.0.0.1", "--port", str(site.port)),
            *("--worker-urls", *site.engine_urls),
            *("--prometheus-port", str(free_port())),
            *("--worker-startup-check-interval", "1"),
        )
    )


def tuned(site: Site) -> Command:
    """Round robin and next to no log: it then looks at nothing and says nothing."""
    return Command((*command(site).argv, "--policy", "round_robin", "--log-level", "warning"))


def version() -> str:
    """Of the wheel."""
    return peer_version("vllm-router")


PROXY = Proxy("vllm-router", "its defaults (policy by prefix cache, log level info)", command, version)
TUNED = Proxy("vllm-router-tuned", "`round_robin`, log level warning: the least it can be made to cost", tuned, version)
