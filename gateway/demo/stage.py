"""What the demo shows: model, engines, gateway, requests and their table, then serving or the check."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx

from gateway.demo import gateway as demo_gateway
from gateway.demo import report
from gateway.demo.check import Claim, Measured, claims
from gateway.demo.engines import MODEL_NAME, Drafting, LocalEngine
from gateway.demo.gateway import Observer
from gateway.demo.model import prepare_model
from gateway.demo.process import Child, ChildFailedError
from gateway.demo.prompts import DISTINCT
from gateway.demo.traffic import Level, Traffic, client

THRESHOLD = 4
SLOTS = DISTINCT
POOLS = {"speculative": Drafting(), "baseline": None}
PINNED = {1: 8, 16: 16}  # concurrency: requests
ROUTED = {1: 5, 2: 6, 4: 10, 5: 12, 8: 16, 16: 32}

_say = partial(print, flush=True)


def show(stack: ExitStack, port: int, *, check: bool) -> int:
    """Runs the demo; what it starts is stopped by `stack`. Returns the exit status.

    Raises ChildFailedError when an engine or the gateway is not there, KeyboardInterrupt until it serves.
    """
    with _step("Preparing the model, once") as progress:
        model = prepare_model(progress)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spillway-demo-")))
    with _step(f"Starting two engines of it, {' and '.join(POOLS)}"):
        engines = _start_engines(stack, model, folder)
    with _step(f"Starting the gateway on port {port}"):
        urls = {pool: engine.url for pool, engine in engines.items()}
        gateway, url = demo_gateway.start(stack, folder, port=port, engines=urls, threshold=THRESHOLD, slots=SLOTS)
    try:
        measured = asyncio.run(measure(url, [gateway, *engines.values()]))
    except httpx.HTTPError as error:
        raise ChildFailedError(f"the gateway gave no answer ({error!r}); its log ends:\n{gateway.tail()}") from error
    if check:
        return _verdict(claims(measured), gateway)
    return _serve(url, folder, gateway, engines)


@contextmanager
def _step(what: str) -> Iterator[Callable[[float], None]]:
    """Says what is being done, how far it is (on a terminal), and how long it took."""
    start = time.monotonic()
    terminal = sys.stdout.isatty()
    _say(f"{what} ...", end="" if terminal else "\n")

    def progress(share: float) -> None:
        if terminal:
            _say(f"\r{what} ... {share:4.0%}", end="")

    yield progress
    took = f"{time.monotonic() - start:.1f} s"
    _say(f"\r{what} ... {took}" if terminal else f"  {took}")


def _start_engines(stack: ExitStack, model: Path, folder: Path) -> dict[str, LocalEngine]:
    engines = {
        pool: LocalEngine(model, name=f"{pool}-engine", drafting=drafting, slots=SLOTS, log=folder / f"{pool}.log")
        for pool, drafting in POOLS.items()
    }
    for engine in engines.values():
        stack.callback(engine.stop)
        engine.start()
    for engine in engines.values():
        engine.wait_ready()
    return engines


async def measure(url: str, children: Sequence[Child]) -> Measured:
    """Sends every request of the demo to the gateway at `url`, and prints the table.

    Raises ChildFailedError once one of `children` has ended: what follows would say nothing about them, and a gateway's
    port may be another's by then. Raises httpx.HTTPError when the gateway does not give its account at the end.
    """

    async def level(traffic: Traffic, concurrency: int, requests: int) -> Level:
        done = await traffic.level(concurrency, requests)
        for child in children:
            child.check_alive()
        return done

    async with client(url) as openai_client, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        observer = Observer(http)
        with _step("Warming up every slot of both engines"):
            warming = (Traffic(openai_client, MODEL_NAME, pool, max_tokens=1) for pool in POOLS)
            warm_up = await asyncio.gather(*(level(traffic, SLOTS, SLOTS) for traffic in warming))
        pinned = []
        _say(f"\nEach pool by itself (its requests are pinned to it):\n{report.header()}")
        for concurrency, requests in PINNED.items():
            for pool in POOLS:
                pinned.append(await level(Traffic(openai_client, MODEL_NAME, pool), concurrency, requests))
                _say(report.row(pinned[-1]))
        routed = []
        _say(f"\nRouted by in-flight load, threshold {THRESHOLD}:\n{report.header()}")
        traffic = Traffic(openai_client, MODEL_NAME)
        async with observer.watching():
            for concurrency, requests in ROUTED.items():
                routed.append(await level(traffic, concurrency, requests))
                _say(report.row(routed[-1]))
        _say(f"\n{report.meaning(THRESHOLD, pinned)}")
        return Measured(
            threshold=THRESHOLD,
            pinned=[*warm_up, *pinned],
            levels=routed,
            looks=observer.looks,
            peak=observer.peak.get("speculative", 0),
            over_limit=observer.over_limit,
            unanswered=observer.unanswered,
            inflight_after=(await observer.settled()).inflight,
            requests=await observer.requests(),
        )


def _verdict(shown: Sequence[Claim], gateway: Child) -> int:
    _say()
    for claim in shown:
        _say(f"FAILED  {claim.text}: {claim.problem}" if claim.problem else f"ok      {claim.text}")
    if not any(claim.problem for claim in shown):
        return 0
    _say(f"\nThe end of the gateway's log:\n{gateway.tail()}")
    return 1


def _serve(url: str, folder: Path, gateway: Child, engines: Mapping[str, LocalEngine]) -> int:
    body = f"""{{"model": "{MODEL_NAME}", "stream": true, "max_tokens": 32,
         "messages": [{{"role": "user", "content": "Say hello."}}]}}"""
    _say(f"""
The gateway is serving on {url}, the model is called {MODEL_NAME}. Try in another terminal:

  curl -iN {url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{body}'

  The x-spillway-* headers say where it went and why; -H 'x-spillway-pool: baseline' pins it.

  {url}/ui                                      in a browser: load, decisions, speed
  curl -s {url}/status                          pools, replicas, in-flight
  curl -s {url}/metrics | grep ^spillway_       for Prometheus
  kill -9 {engines["speculative"].pid:<8} (the speculative engine)        requests go on, to the baseline pool

The gateway's configuration and all logs are in {folder}.
Ctrl-C stops everything.""")
    with suppress(KeyboardInterrupt):
        running = dict(engines)
        while gateway.alive:
            time.sleep(0.3)
            for pool in [pool for pool, engine in running.items() if not engine.alive]:
                _say(f"The {pool} engine (process {running.pop(pool).pid}) has ended.")
        _say(f"The gateway has ended; the end of its log:\n{gateway.tail()}")
        return 1
    _say("\nStopping ...")
    return 0
