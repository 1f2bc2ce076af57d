"""When a replica is ready: the state machine as tables of what happened and what it came to."""

from collections.abc import Callable

import pytest

from gateway.config import Health as Settings
from gateway.pools import Health

SETTINGS = Settings(
    unhealthy_after=2, hang_seconds=30, eject_after=3, eject_seconds=1, eject_max_seconds=8, interval=2, timeout=5
)

Step = tuple[float, str]


def play(health: Health, *steps: Step) -> bool:
    """Let things happen at their times; `silent` and `busy` are unanswered probes that started 5 s before."""
    for now, step in steps:
        match step:
            case "ok":
                health.probe_succeeded(now)
            case "refused" | "unwell":
                health.probe_failed(answered=step == "unwell")
            case "silent" | "busy":
                health.probe_unanswered(now - 5, now, progressed=step == "busy")
            case "failed":
                health.request_failed(now)
            case "served":
                health.request_succeeded()
    return health.ready


@pytest.mark.parametrize(
    ("steps", "ready"),
    [
        ([], False),
        ([(0, "ok")], True),
        ([(0, "served")], False),
        # refused or unwell: two in a row
        ([(0, "ok"), (2, "refused")], True),
        ([(0, "ok"), (2, "refused"), (4, "unwell")], False),
        ([(0, "ok"), (2, "refused"), (4, "ok"), (6, "refused")], True),
        ([(0, "ok"), (2, "refused"), (4, "refused"), (6, "ok")], True),
        ([(0, "ok"), (2, "refused"), (3, "served"), (4, "refused")], False),
        # silent: only for 30 s without a break
        ([(0, "ok"), (7, "silent"), (14, "silent"), (31, "silent")], True),
        ([(0, "ok"), (7, "silent"), (14, "silent"), (32, "silent")], False),
        ([(0, "ok"), (7, "silent"), (14, "busy"), (32, "silent"), (56, "silent")], True),
        ([(0, "ok"), (7, "silent"), (14, "busy"), (32, "silent"), (57, "silent")], False),
        ([(0, "ok"), (7, "silent"), (14, "ok"), (40, "silent")], True),
        ([(0, "ok"), (7, "silent"), (14, "unwell"), (40, "silent")], True),
        ([(0, "ok"), (7, "silent"), (32, "silent"), (33, "ok")], True),
        # failed requests: three in a row
        ([(0, "ok"), (1, "failed"), (1, "failed")], True),
        ([(0, "ok"), (1, "failed"), (1, "failed"), (1, "failed")], False),
        ([(0, "ok"), (1, "failed"), (1, "failed"), (1, "served"), (1, "failed"), (1, "failed")], True),
        # back only by a probe, and not before the pause is over
        ([(0, "ok"), (1, "failed"), (1, "failed"), (1, "failed"), (1.9, "ok")], False),
        ([(0, "ok"), (1, "failed"), (1, "failed"), (1, "failed"), (2.0, "ok")], True),
        ([(0, "ok"), (1, "failed"), (1, "failed"), (1, "failed"), (9, "served")], False),
    ],
)
def test_ready(steps: list[Step], ready: bool) -> None:
    assert play(Health(SETTINGS), *steps) is ready


def pauses(health: Health, count: int, between: Callable[[], None] = lambda: None) -> list[float]:
    """How long each of so many ejections in a row lasts, to the quarter of a second."""
    seen: list[float] = []
    now = 100.0
    for _ in range(count):
        health.probe_succeeded(now)
        assert health.ready
        while health.ready:
            health.request_failed(now)
        began = now
        while not health.ready:
            now += 0.25
            health.probe_succeeded(now)
        seen.append(now - began)
        between()
    return seen


def test_each_ejection_is_twice_as_long_up_to_the_most() -> None:
    assert pauses(Health(SETTINGS), 6) == [1, 2, 4, 8, 8, 8]


def test_an_answered_request_resets_the_pause() -> None:
    health = Health(SETTINGS)
    assert pauses(health, 3) == [1, 2, 4]
    health.request_succeeded()
    assert pauses(health, 2) == [1, 2]


def test_many_ejections_do_not_overflow() -> None:
    """A replica may fail for weeks."""
    health = Health(SETTINGS)
    now = 0.0
    for _ in range(5000):
        now += 8
        health.probe_succeeded(now)
        for _ in range(3):
            health.request_failed(now)
        assert not health.ready
    health.probe_succeeded(now + 8)
    assert health.ready


def test_failures_while_unready_do_not_prolong_the_pause() -> None:
    """A hundred streams may break with the engine that was already ejected."""
    health = Health(SETTINGS)
    play(health, (0, "ok"), *[(1.0, "failed")] * 3, *[(1.5, "failed")] * 97)
    assert play(health, (2.0, "ok"))


def test_new_settings_hold_at_once() -> None:
    health = Health(SETTINGS)
    play(health, (0, "ok"), (1, "failed"))
    health.settings = SETTINGS.model_copy(update={"eject_after": 2})
    assert not play(health, (1, "failed"))


def test_hangs() -> None:
    """What waits on a hung engine waits in vain; one that answers, or sends anything, does not hang."""
    health = Health(SETTINGS)
    play(health, (0, "ok"), (7, "silent"))
    assert not health.hangs(31.9)
    assert health.hangs(32.0)
    play(health, (32, "busy"))
    assert not health.hangs(100.0)
