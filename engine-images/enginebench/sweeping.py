"""A sweep of the load test over the arms of a set, after a pass that warms every level up and one to learn from."""

import argparse
import subprocess
import sys
from collections.abc import Sequence

from enginebench.stack import GATEWAY

SINGLE = ("speculative", "baseline")
_LEARNING = ("balanced", "throughput")


def run(args: argparse.Namespace) -> int:
    """Warm up, let the policy `adaptive` learn, measure; into `args.out`, and before that into folders beside it."""
    arms = [_arm(args.set, arm) for arm in args.arms.split(",")]
    base = [f"--url=http://127.0.0.1:{GATEWAY}", f"--model={args.set}-spill", f"--levels={args.levels}"]
    base += ['--body={"ignore_eos": true}', "--mix=agent=1", "--no-level-warmup"]
    if not args.warm:
        # A level's first requests compile and capture, and an adaptive engine stalls when it first takes a tier.
        first = ["--requests=1", "--per-client=1", "--max-tokens=64", "--settle=0", "--warmup=1", "--repeats=1"]
        _sweep([*base, *first, *(f"--arm={_arm(args.set, arm)}" for arm in SINGLE), f"--out={args.out}-warm"])
        if learning := [arm for arm in arms if arm.split("=")[0] in _LEARNING]:
            taught = ["--requests=8", "--per-client=2", f"--max-tokens={args.max_tokens}", "--settle=0", "--warmup=1"]
            taught += ["--repeats=1", *(f"--arm={arm}" for arm in learning), f"--out={args.out}-learning"]
            _sweep([*base, *taught])
    measured = [f"--requests={args.requests}", f"--per-client={args.per_client}", f"--max-tokens={args.max_tokens}"]
    measured += ["--settle=1.5", "--warmup=2", f"--repeats={args.repeats}", f"--note={args.note}"]
    return _sweep([*base, *measured, *(f"--arm={arm}" for arm in arms), f"--out={args.out}"])


def _arm(name: str, arm: str) -> str:
    return f"{arm}=pool:{arm}" if arm in SINGLE else f"{arm}=model:{name}-{arm}"


def _sweep(options: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "loadtest", "sweep", *options]).returncode
