"""An engine with known latencies, as a process of its own that logs when it really received and sent.

A request carries its script: `{"script": {"ttft": 0.2, "gap": 0.05, "events": 10, "tokens": 20}}`, times in seconds.
The log is at /log; its times are those of `time.perf_counter`, which on Linux is one clock for all processes.
"""

import asyncio
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.engine import FakeEngine
from tests.support.exchange import Exchange
from tests.support.wire import CHUNKED, DONE, LAST_CHUNK, SSE_HEADERS, chat_delta, chunk, event, head, json_reply

START_SECONDS = 30.0


@dataclass(frozen=True)
class Span:
    """One request at the engine: when it came, and when each event with content was sent."""

    received: float
    sent: tuple[float, ...]
    tokens: int

    @property
    def ttft(self) -> float:
        return self.sent[0] - self.received

    @property
    def gaps(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.sent, self.sent[1:], strict=False)]


class Scripted:
    """The running engine, from outside."""

    def __init__(self, url: str) -> None:
        self.url = url

    def log(self) -> list[Span]:
        """Every request so far, in the order in which they came."""
        entries = httpx.get(f"{self.url}/log", trust_env=False).raise_for_status().json()
        return [Span(entry["received"], tuple(entry["sent"]), entry["tokens"]) for entry in entries]


@contextmanager
def scripted_engine() -> Iterator[Scripted]:
    """A started engine."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        assert ready, "the scripted engine did not start"
        yield Scripted(process.stdout.readline().strip())
    finally:
        process.stdin.close()  # which ends it
        process.wait(10)
        process.stdout.close()


async def _serve() -> None:
    entries: list[dict[str, Any]] = []

    async def behave(exchange: Exchange) -> None:
        received = time.perf_counter()
        if exchange.request.target == "/log":
            await exchange.send(json_reply(200, entries))
            return
        script = exchange.request.json()["script"]
        entry: dict[str, Any] = {"received": received, "sent": [], "tokens": script["tokens"]}
        entries.append(entry)
        await exchange.send(head(200, (*SSE_HEADERS, *CHUNKED)) + chunk(event(chat_delta(None))))
        due = received + script["ttft"]
        for number in range(script["events"]):
            await exchange.sleep(max(0.0, due - time.perf_counter()))
            entry["sent"].append(time.perf_counter())
            await exchange.send(chunk(event(chat_delta(f"word{number} "))))
            due += script["gap"]
        usage = {"prompt_tokens": 7, "completion_tokens": script["tokens"], "total_tokens": 7 + script["tokens"]}
        await exchange.send(chunk(event({"choices": [], "usage": usage})) + chunk(DONE) + LAST_CHUNK)

    engine = FakeEngine(behave)
    await engine.start()
    print(engine.url, flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until the parent is gone
    await engine.stop()


if __name__ == "__main__":
    asyncio.run(_serve())
