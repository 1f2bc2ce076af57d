"""Log lines to a pipe that is read, stalled, shared or closed."""

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gateway.telemetry import LineWriter, log


class Pipe:
    """A pipe of a few KiB with a writer on it; `timers` are what the loop was asked to call later."""

    def __init__(self, *, blocking: bool = True) -> None:
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.writing, blocking)
        self.timers: list[Callable[[], None]] = []
        self.writer = LineWriter(self.writing, lambda _seconds, call: self.timers.append(call))

    def read(self) -> list[bytes]:
        """Everything, once the writer has been closed and the pipe's end with it."""
        parts: list[bytes] = []

        def drain() -> None:
            while data := os.read(self.reading, 65536):
                parts.append(data)

        reader = threading.Thread(target=drain)
        reader.start()
        self.writer.close()
        os.close(self.writing)
        reader.join()
        data = b"".join(parts)
        assert data.endswith(b"\n") or not data
        return data.split(b"\n")[:-1]

    def stall(self) -> None:
        """Fill it up, with nobody reading."""
        os.set_blocking(self.writing, False)
        while True:
            try:
                os.write(self.writing, b"#" * 4095 + b"\n")
            except BlockingIOError:
                break
        os.set_blocking(self.writing, True)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    os.close(made.reading)


def test_lines_in_order(pipe: Pipe) -> None:
    lines = [b'{"n": %d}' % number for number in range(1000)]
    for number, line in enumerate(lines):
        pipe.writer.write(line)
        if number % 100 == 50:
            pipe.writer.flush()
    assert pipe.read() == lines
    assert pipe.writer.dropped == 0


def test_lines_are_handed_over_in_batches(pipe: Pipe) -> None:
    """One timer for many lines."""
    for _ in range(100):
        pipe.writer.write(b"x")
    assert len(pipe.timers) == 1
    pipe.timers[0]()
    pipe.writer.write(b"y")
    assert len(pipe.timers) == 2
    assert pipe.read() == [b"x"] * 100 + [b"y"]


def test_a_flush_of_nothing(pipe: Pipe) -> None:
    pipe.writer.flush()
    assert pipe.read() == []


def test_a_stalled_reader_stalls_nobody(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines wait up to a number, and beyond that are counted instead."""
    monkeypatch.setattr(log, "_BUFFERED_LINES", 500)
    pipe.stall()
    began = time.monotonic()
    for number in range(2000):
        pipe.writer.write(b"%06d" % number)
        if number % 100 == 99:
            pipe.writer.flush()
    assert time.monotonic() - began < 1
    assert pipe.writer.dropped == 1500
    lines = [line for line in pipe.read() if not line.startswith(b"#")]
    assert lines == [b"%06d" % number for number in range(500)]
    assert pipe.writer.dropped == 1500


def test_what_was_stalled_goes_on(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places come free as lines are written, as often as it takes."""
    monkeypatch.setattr(log, "_BUFFERED_LINES", 10)
    for _ in range(20):
        for number in range(10):
            pipe.writer.write(b"%d" % number)
        pipe.writer.flush()
        assert os.read(pipe.reading, 65536) == b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"
        deadline = time.monotonic() + 2
        while pipe.writer.waiting and time.monotonic() < deadline:
            time.sleep(0.001)
    assert pipe.writer.dropped == 0
    assert pipe.read() == []


def test_closing_does_not_wait_for_ever(pipe: Pipe) -> None:
    pipe.stall()
    pipe.writer.write(b"x")
    began = time.monotonic()
    pipe.writer.close(0.05)
    assert time.monotonic() - began < 1
    os.read(pipe.reading, 1 << 20)


def test_a_pipe_that_is_not_blocking() -> None:
    """As a parent that shares it may have made it: lines are neither lost nor torn."""
    pipe = Pipe(blocking=False)
    lines = [b"%06d" % number + b"x" * 1000 for number in range(1000)]
    for line in lines:
        pipe.writer.write(line)
    pipe.writer.flush()
    time.sleep(0.02)
    assert pipe.read() == lines
    assert pipe.writer.dropped == 0
    os.close(pipe.reading)


def test_a_pipe_that_is_closed() -> None:
    """Lines are counted as dropped, and the gateway lives on."""
    pipe = Pipe()
    os.close(pipe.reading)
    for _ in range(7):
        pipe.writer.write(b"x")
    pipe.writer.close()
    assert pipe.writer.dropped == 7
    pipe.writer.write(b"y")
    os.close(pipe.writing)
