"""A network namespace that is joined to this one by several links, each of which can be taken down.

A link that is down loses packets both ways and tells nobody: connections over it stay open at both ends.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class NoNamespaceError(Exception):
    """This machine allows none; says why."""


@dataclass(frozen=True)
class Link:
    """`address`: that of the namespace's end."""

    namespace: str
    name: str
    address: str

    def down(self) -> None:
        # The far end, so that this one keeps its route: packets are lost, and not sent elsewhere.
        _ip("-n", self.namespace, "link", "set", self.name, "down")

    def up(self) -> None:
        _ip("-n", self.namespace, "link", "set", self.name, "up")


@dataclass(frozen=True)
class Namespace:
    """`run`: what a command begins with that is to run inside."""

    name: str
    links: tuple[Link, ...]

    @property
    def run(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)


@contextmanager
def namespace(links: int) -> Iterator[Namespace]:
    """A namespace with so many links. End what runs inside before leaving.

    Raises:
        NoNamespaceError: not on this machine.
    """
    if shutil.which("ip") is None:
        raise NoNamespaceError("there is no command `ip`")
    if os.geteuid() != 0:
        raise NoNamespaceError("only root makes network namespaces")
    tag = secrets.token_hex(3)
    name = f"spillway-{tag}"
    # Addresses for benchmarks (RFC 2544) are in use nowhere; a random part of them, as tests may run beside each other.
    block = f"198.{18 + secrets.randbelow(2)}.{secrets.randbelow(256)}"
    made = tuple(Link(name, f"far{number}", f"{block}.{4 * number + 2}") for number in range(links))
    _ip("netns", "add", name)
    try:
        for number, link in enumerate(made):
            near = f"sw{tag}{number}"
            _ip("link", "add", near, "type", "veth", "peer", "name", link.name, "netns", name)
            _ip("address", "add", f"{block}.{4 * number + 1}/30", "dev", near)
            _ip("link", "set", near, "up")
            _ip("-n", name, "address", "add", f"{link.address}/30", "dev", link.name)
            link.up()
        yield Namespace(name, made)
    finally:
        # Its links go with it.
        _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoNamespaceError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
