"""smg (Rust), the SGLang model gateway, once sglang-router."""

from bench.paths import peer
from bench.process import free_port
from bench.proxies.base import Command, Proxy, Site, peer_version


def command(site: Site) -> Command:
    """Regular HTTP mode; the tokenizer that other modes need is not loaded."""
    return Command(
        (
            peer("smg"),
            "launch",
            *("--host", "127.0.0.1", "--port", str(site.port)),
            *("--worker-urls", *site.engine_urls),
            *("--policy", "round_robin"),
            *("--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port())),
            *("--worker-startup-check-interval", "1"),
            *("--log-level", "warn"),
            *("--shutdown-grace-period-secs", "1"),
            "--disable-tokenizer-autoload",
        )
    )


def version() -> str:
    """Of the wheel."""
    return peer_version("smg")


PROXY = Proxy("smg", "`round_robin`, a runtime thread per core (its default), log level warn", command, version)
