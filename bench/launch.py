"""Proxies as running, checked targets."""

import contextlib
import json
import subprocess
from collections.abc import Iterator

import httpx

from bench.engine import EVENTS_PER_STREAM, Engines
from bench.measure import Target
from bench.paths import BUILD, SetupError
from bench.process import free_port, running, wait_until
from bench.proxies.base import Proxy, Site

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Write a function."}], "max_tokens": 100}


def _completes(url: str) -> bool:
    try:
        return httpx.post(url, json=REQUEST, timeout=5).is_success
    except httpx.TransportError:
        return False


def _check_stream(name: str, url: str) -> None:
    """A proxy that loses or adds events is not worth measuring. Raises SetupError if it does."""
    with httpx.stream("POST", url, json={**REQUEST, "stream": True}, timeout=30) as response:
        events = [line.removeprefix("data: ") for line in response.iter_lines() if line]
    if response.status_code != httpx.codes.OK or len(events) != EVENTS_PER_STREAM or events[-1] != "[DONE]":
        raise SetupError(f"{name} answered {response.status_code} and {len(events)} of {EVENTS_PER_STREAM} events")
    if not all(json.loads(event)["choices"] for event in events[:-1]):
        raise SetupError(f"{name} passed on a usage event that the client did not ask for")


@contextlib.contextmanager
def proxy_target(proxy: Proxy, engines: Engines) -> Iterator[Target]:
    """A proxy in front of the engines, once it relays a request and a stream as it should.

    Raises SetupError if it cannot be started or does not.
    """
    folder = BUILD / proxy.name
    folder.mkdir(parents=True, exist_ok=True)
    site = Site(free_port(), engines.ports, folder)
    command, log = proxy.command(site), folder / f"{proxy.name}.log"
    url = f"http://127.0.0.1:{site.port}/v1/chat/completions"

    with running(command.argv, log, command.env) as child:
        wait_until(lambda: _completes(url), child, log)
        _check_stream(proxy.name, url)
        yield Target(proxy.name, site.port, child)


@contextlib.contextmanager
def load_running(argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A wrk in the background, until the end of the block."""
    with (BUILD / "wrk.log").open("wb") as log, subprocess.Popen(argv, stdout=log, stderr=log) as child:
        try:
            yield child
        finally:
            child.terminate()
