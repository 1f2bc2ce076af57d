"""One sweep of the load test over the arms of a set, after a pass that warms every level up."""

import argparse
import subprocess
import sys
from collections.abc import Sequence

from enginebench.stack import GATEWAY

_ARMS = ("speculative=pool:speculative", "baseline=pool:baseline", "spill")


def run(args: argparse.Namespace) -> int:
    """Warm up, measure, write into `args.out`."""
    name: str = args.set
    arms = [*_ARMS, f"switch=model:{name}-switch"]
    base = [f"--url=http://127.0.0.1:{GATEWAY}", f"--model={name}-spill", f"--levels={args.levels}", "--repeats=1"]
    base += ['--body={"ignore_eos": true}', "--mix=agent=1"]
    # A level's first requests compile and capture, and an adaptive engine stalls when it first takes a tier.
    warm = ["--requests=1", "--per-client=1", "--max-tokens=64", "--no-level-warmup", "--settle=0", "--warmup=1"]
    _sweep([*base, *warm, *(f"--arm={arm}" for arm in arms[:2]), f"--out={args.out}-warm"])
    measured = [f"--requests={args.requests}", f"--per-client={args.per_client}", f"--max-tokens={args.max_tokens}"]
    measured += ["--settle=1.5", "--warmup=2", "--no-level-warmup", f"--note={args.note}"]
    return _sweep([*base, *measured, *(f"--arm={arm}" for arm in arms), f"--out={args.out}"])


def _sweep(options: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "loadtest", "sweep", *options]).returncode
