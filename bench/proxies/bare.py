"""No proxy: the event loop that Spillway stands on, joining sockets."""

from bench.paths import BENCH, OPTIMISED
from bench.proxies.base import Command, Proxy, Site
from bench.proxies.spillway import package_versions


def command(site: Site) -> Command:
    """Each client joined to the first engine."""
    return Command((str(OPTIMISED), str(BENCH / "bare.py"), str(site.port), str(site.engine_ports[0])))


PROXY = Proxy(
    "uvloop alone",
    "no proxy: sockets joined in Python on uvloop, nothing parsed; what is below Spillway",
    command,
    lambda: package_versions(OPTIMISED, "uvloop"),
)
