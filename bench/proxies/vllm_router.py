"""vllm-project/router (Rust): as it comes, and held to one runtime thread as the other rows are."""

from bench.paths import peer
from bench.process import free_port
from bench.proxies.base import Command, Proxy, Site, peer_version


def command(site: Site) -> Command:
    """Round robin is its cheapest policy: power_of_two writes a log line for each request, whatever the log level."""
    return Command(
        (
            peer("vllm-router"),
            *("--host", "127.0.0.1", "--port", str(site.port)),
            *("--worker-urls", *site.engine_urls),
            *("--policy", "round_robin"),
            *("--prometheus-port", str(free_port())),
            *("--worker-startup-check-interval", "1"),
            *("--log-level", "warning"),
        )
    )


def one_thread(site: Site) -> Command:
    """The same with one tokio worker: events wait for each other more and cost less."""
    return Command(command(site).argv, {"TOKIO_WORKER_THREADS": "1"})


def version() -> str:
    """Of the wheel."""
    return peer_version("vllm-router")


PROXY = Proxy(
    "vllm-router", "`round_robin`, a runtime thread per core (its default), log level warning", command, version
)
ONE_THREAD = Proxy("vllm-router-1t", "the same with `TOKIO_WORKER_THREADS=1`", one_thread, version)
