"""The process's own log: JSON lines with the time."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from gateway.telemetry import configure_logging
from gateway.telemetry.log import timestamp

Logged = Callable[[], list[dict[str, str]]]


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> Iterator[Logged]:
    """What has been logged to standard output; logging is put back as it was afterwards."""
    loggers = [logging.getLogger(name) for name in (None, "httpx", "httpcore", "uvicorn.error", "asyncio")]
    before = [(logger, list(logger.handlers), logger.level) for logger in loggers]
    yield lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for logger, handlers, level in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)


def test_a_line(out: Logged) -> None:
    configure_logging("info")
    logging.getLogger("gateway.x").warning('%s is "ejected":\nbad', "e")
    [line] = out()
    assert set(line) == {"time", "level", "logger", "message"}
    assert (line["level"], line["logger"], line["message"]) == ("warning", "gateway.x", 'e is "ejected":\nbad')


def test_an_exception(out: Logged) -> None:
    configure_logging("info")
    try:
        raise ZeroDivisionError("no")
    except ZeroDivisionError:
        logging.getLogger("gateway.x").exception("failed")
    [line] = out()
    assert "ZeroDivisionError: no" in line["exception"]


@pytest.mark.parametrize(("level", "shown"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_levels(out: Logged, level: str, shown: int) -> None:
    configure_logging(level)
    logger = logging.getLogger("gateway.x")
    for tell in (logger.debug, logger.info, logger.warning, logger.error):
        tell("x")
    assert len(out()) == shown


@pytest.mark.parametrize("name", ["httpx", "httpcore", "uvicorn.error", "asyncio"])
def test_libraries_chatter_is_left_out(out: Logged, name: str) -> None:
    configure_logging("debug")
    logging.getLogger(name).info("chatter")
    logging.getLogger(name).warning("trouble")
    assert [line["message"] for line in out()] == ["trouble"]


def test_configuring_twice_writes_once(out: Logged) -> None:
    configure_logging("info")
    configure_logging("info")
    logging.getLogger("gateway.x").info("x")
    assert len(out()) == 1


def test_the_time_is_now() -> None:
    told = datetime.fromisoformat(timestamp())
    assert told.tzinfo == UTC
    assert abs(told.timestamp() - time.time()) < 1


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1.9999, "1970-01-01T00:00:01.999Z"),
        (1735689599.5, "2024-12-31T23:59:59.500Z"),
        (1735689600.25, "2025-01-01T00:00:00.250Z"),
    ],
)
def test_times(monkeypatch: pytest.MonkeyPatch, now: float, told: str) -> None:
    monkeypatch.setattr(time, "time", lambda: now)
    assert timestamp() == told
