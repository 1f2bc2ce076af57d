"""`python -m loadtest.local`: a small sweep on this machine, against the demo's two engines with a gateway before them.

The engines have one thread each. Both pools share the machine's cores, so the gateway runs in mode `switch`.
"""

import argparse
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import yaml

from gateway.demo.engines import MODEL_NAME, Drafting, LocalEngine
from gateway.demo.gateway import START_SECONDS, is_ready
from gateway.demo.model import prepare_model
from gateway.demo.process import Child, ChildFailedError
from loadtest import cli

HOST = "127.0.0.1"
DRAFTING = Drafting(tokens=16, match=2)
THRESHOLD = 20  # near where these pools cross with the prompts below
SLOTS = 48
CONTEXT = 512
# All prompts begin with the same template. A slot that knows no more than that is not worth what else it knows.
SIMILARITY = 0.9
DWELL_SECONDS = 0.5  # less than the sweep's settling, so that each cell begins in the low state
# Edits of regular code, where drafting pays, with prompts that the engines know: what is measured is decoding.
SWEEP = ["--mix", "regular", "--same-prompts", "--max-tokens", "48", "--no-level-warmup", "--settle", "1"]
# As many to warm up as an engine has slots, so that each slot knows a prompt.
SMALL = ["--levels", "1,8,40", "--repeats", "1", "--requests", "12", "--per-client", "2", "--warmup", str(SLOTS)]

_say = partial(print, file=sys.stderr, flush=True)


def main() -> int:
    """Exit status as of `spillway-loadtest sweep`, whose options it takes; `--url` is its own."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.local", description=__doc__, add_help=False)
    parser.add_argument("--threshold", type=int, default=THRESHOLD)
    parser.add_argument("--mode", choices=("switch", "spill"), default="switch")
    args, options = parser.parse_known_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            url = stack.enter_context(local_gateway(args.threshold, args.mode))
            return cli.main(["sweep", "--url", url, *SWEEP, *SMALL, *options])
    except (ChildFailedError, OSError) as error:
        _say(f"the local engines can't be run: {error}")
        return 2


@contextmanager
def local_gateway(
    threshold: int = THRESHOLD,
    mode: str = "switch",
    policy: dict[str, object] | None = None,
    drafting: Drafting = DRAFTING,
) -> Iterator[str]:
    """The URL of a gateway before two engines, one of which drafts as `drafting` says; `policy` instead of a threshold.

    Raises ChildFailedError, or FileNotFoundError without the model.
    """
    with ExitStack() as stack:
        _say("preparing the model, once")
        model = prepare_model()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spillway-loadtest-")))
        _say("starting two engines and the gateway")
        pools = {"speculative": drafting, "baseline": None}
        engines = [
            LocalEngine(
                model,
                name=f"{pool}-engine",
                drafting=how,
                slots=SLOTS,
                context=CONTEXT,
                similarity=SIMILARITY,
                log=folder / f"{pool}.log",
            )
            for pool, how in pools.items()
        ]
        for engine in engines:
            stack.callback(engine.stop)
            engine.start()
        for engine in engines:
            engine.wait_ready()
        urls = {pool: engine.url for pool, engine in zip(pools, engines, strict=True)}
        port = _free_port()
        config = folder / "gateway.yaml"
        config.write_text(yaml.safe_dump(_config(urls, port, policy or _threshold(threshold, mode)), sort_keys=False))
        gateway = Child("gateway", "gateway.cli", ["serve", "--config", str(config)], folder / "gateway.log")
        stack.enter_context(gateway)
        url = f"http://{HOST}:{port}"
        gateway.wait_until(partial(is_ready, url, urls), START_SECONDS)
        yield url


def _config(urls: dict[str, str], port: int, policy: dict[str, object]) -> dict[str, object]:
    pools = {
        pool: {"engine": "llamacpp", "max_inflight": SLOTS, "discovery": {"static": [url]}}
        for pool, url in urls.items()
    }
    return {
        "listen": {"host": HOST, "port": port},
        "models": [{"name": MODEL_NAME, "policy": policy, "pools": pools}],
        "drain": {"delay_seconds": 0, "timeout_seconds": 3},
    }


def _threshold(threshold: int, mode: str) -> dict[str, object]:
    policy: dict[str, object] = {"kind": "threshold", "mode": mode, "threshold": threshold, "allow_pinning": True}
    if mode == "switch":
        policy["min_dwell"] = DWELL_SECONDS
    return policy


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        chosen: int = probe.getsockname()[1]
        return chosen


if __name__ == "__main__":
    sys.exit(main())
