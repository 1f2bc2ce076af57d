"""vllm-project/router (Rust): routing by load and logging requests, and made as cheap as its options allow."""

from bench.paths import peer
from bench.process import free_port
from bench.proxies.base import Command, Proxy, Site, peer_version


def command(site: Site) -> Command:
    """By load, with a log line for each request, as Spillway does.

    Its default policy asks an engine for each request's tokens first, which the fake one can't say.
    """
    return Command(
        (
            peer("vllm-router"),
            *("--host", "127.0.0.1", "--port", str(site.port)),
            *("--worker-urls", *site.engine_urls),
            *("--prometheus-port", str(free_port())),
            *("--worker-startup-check-interval", "1"),
            *("--policy", "power_of_two"),
        )
    )


def tuned(site: Site) -> Command:
    """Round robin and next to no log: it then looks at nothing and says nothing."""
    options = command(site).argv[: -len(("--policy", "power_of_two"))]
    return Command((*options, "--policy", "round_robin", "--log-level", "warning"))


def version() -> str:
    """Of the wheel."""
    return peer_version("vllm-router")


PROXY = Proxy("vllm-router", "`power_of_two`, its policy by load; log level info, its default", command, version)
TUNED = Proxy("vllm-router-tuned", "`round_robin`, log level warning: the least it can be made to cost", tuned, version)
