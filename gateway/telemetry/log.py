"""Structured logs on standard output: one JSON object a line."""

import json
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from queue import SimpleQueue

_FLUSH_SECONDS = 0.2
_BUFFERED_LINES = 20_000


def timestamp(ago: float = 0.0) -> str:
    """The time `ago` seconds before now, as RFC 3339 in UTC with milliseconds."""
    now = time.time() - ago
    second = int(now)
    return f"{_date_and_time(second)}.{int((now - second) * 1000):03d}Z"


@lru_cache(maxsize=2)
def _date_and_time(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


class JsonFormatter(logging.Formatter):
    """A log record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        entry = {
            "time": timestamp(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def configure_logging(level: str) -> None:
    """Send all logging to standard output as JSON, at this level; libraries' chatter only from warning up."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("httpx", "httpcore", "uvicorn.error", "asyncio"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


class LineWriter:
    """Writes lines to a file descriptor from a thread of its own: a reader that stalls never stalls the event loop.

    Lines are handed over in batches, so a crash can lose those of the last fifth of a second.
    """

    def __init__(self, descriptor: int, call_later: Callable[[float, Callable[[], None]], object]) -> None:
        """`call_later` is the event loop's."""
        self._descriptor = descriptor
        self._call_later = call_later
        self._lines: list[bytes] = []
        self._scheduled = False
        # Each is written by one thread only: the event loop's the first two, the writing one's the others.
        self._handed = self._refused = 0
        self._done = self._lost = 0
        self._batches: SimpleQueue[list[bytes] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="access-log", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Lines that were not written: too many waited, or the descriptor took no more."""
        return self._refused + self._lost

    @property
    def waiting(self) -> int:
        """Lines that are not written yet."""
        return self._handed - self._done + len(self._lines)

    def write(self, line: bytes) -> None:
        """Queue one line (without its newline); dropped and counted if too many wait."""
        if self.waiting >= _BUFFERED_LINES:
            self._refused += 1
            return
        self._lines.append(line)
        if not self._scheduled:
            self._scheduled = True
            self._call_later(_FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        """Hand what is queued to the thread."""
        self._scheduled = False
        if self._lines:
            lines, self._lines = self._lines, []
            self._handed += len(lines)
            self._batches.put(lines)

    def close(self, seconds: float = 5.0) -> None:
        """Write what is left, waiting at most so long."""
        self.flush()
        self._batches.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while (lines := self._batches.get()) is not None:
            try:
                self._write_all(memoryview(b"\n".join(lines) + b"\n"))
            except OSError:
                self._lost += len(lines)
            self._done += len(lines)

    def _write_all(self, data: memoryview) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                # Whoever shares the other end has made it non-blocking.
                select.select((), (self._descriptor,), ())
