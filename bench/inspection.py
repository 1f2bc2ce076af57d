"""How long Spillway takes to find a request's model and stream flag in front of, and behind, a 250 KB prompt."""

import json
import time
from statistics import median

LIMIT_US = 300.0
PROMPT_BYTES = 250_000
ROUNDS = 500
LINE = 'def add(a: int, b: int) -> int:\n    """Return the sum: "naïve" but right.\\n"""\n    return a + b\n\n'


def _bodies() -> dict[str, bytes]:
    text = LINE * (PROMPT_BYTES // len(json.dumps(LINE).encode()))
    messages = [{"role": "user", "content": text}]
    last = {"messages": messages, "max_tokens": 100, "model": "m", "stream": True}
    first = {"model": "m", "stream": True, "messages": messages, "max_tokens": 100}
    return {
        "model before the prompt": json.dumps(first).encode(),
        "model behind it": json.dumps(last).encode(),
        "model behind it, raw UTF-8": json.dumps(last, ensure_ascii=False).encode(),
    }


def main() -> int:
    """Print a line for each body; returns 1 if the slowest median is over the limit."""
    from gateway.relay.inspect import inspect_json

    worst = 0.0
    for name, body in _bodies().items():
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter_ns()
            inspect_json(body)
            times.append((time.perf_counter_ns() - start) / 1000)
        times.sort()
        worst = max(worst, median(times))
        p99 = times[int(len(times) * 0.99)]
        print(f"{name:28s} {len(body) / 1000:6.0f} KB  median {median(times):7.1f} µs  p99 {p99:7.1f} µs")
    passed = worst <= LIMIT_US
    print(f"{'PASS' if passed else 'FAIL'}    at most {LIMIT_US:.0f} µs by the median")
    return 0 if passed else 1
