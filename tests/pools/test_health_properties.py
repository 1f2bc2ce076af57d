"""What holds of health whatever happens."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.config import Health as Settings
from gateway.pools import Health

settings = st.builds(
    Settings,
    unhealthy_after=st.integers(1, 4),
    hang_seconds=st.floats(1, 40),
    eject_after=st.integers(1, 4),
    eject_seconds=st.just(1.0),
    eject_max_seconds=st.floats(1, 20),
)
EVENTS = ["probe ok", "probe refused", "probe unwell", "silent", "busy", "request failed", "request served"]
histories = st.lists(st.tuples(st.floats(0.1, 10), st.sampled_from(EVENTS)), max_size=60)


@given(settings, histories)
def test_against_a_plain_account(given_settings: Settings, history: list[tuple[float, str]]) -> None:
    """The same rules, told from the whole history instead of counters."""
    health = Health(given_settings)
    now, ready = 0.0, False
    refused = failed = ejections = 0
    until = 0.0
    silence: float | None = None
    for pause, event in history:
        started, now = now, now + pause
        match event:
            case "probe ok":
                health.probe_succeeded(now)
                refused, silence = 0, None
                ready = ready or now >= until
            case "probe refused" | "probe unwell":
                answered = event == "probe unwell"
                health.probe_failed(answered=answered)
                silence = None if answered else silence
                refused += 1
                ready = ready and refused < given_settings.unhealthy_after
            case "silent":
                health.probe_unanswered(started, now, progressed=False)
                silence = started if silence is None else silence
                ready = ready and now - silence < given_settings.hang_seconds
            case "busy":
                health.probe_unanswered(started, now, progressed=True)
                silence = None
            case "request failed":
                health.request_failed(now)
                failed += 1
                if ready and failed >= given_settings.eject_after:
                    ready, failed, ejections = False, 0, ejections + 1
                    until = now + min(2.0 ** (ejections - 1), given_settings.eject_max_seconds)
            case "request served":
                health.request_succeeded()
                failed = ejections = 0
        assert health.ready is ready, (event, now)
        assert health.hangs(now) == (silence is not None and now - silence >= given_settings.hang_seconds)


@given(settings, st.lists(st.floats(0.1, 60), max_size=40))
def test_slow_is_not_dead(given_settings: Settings, pauses: list[float]) -> None:
    """No number of unanswered probes takes out an engine that sends something to somebody in between."""
    health = Health(given_settings)
    health.probe_succeeded(0.0)
    now = 0.0
    for pause in pauses:
        now += pause
        health.probe_unanswered(now - pause, now, progressed=True)
        assert health.ready
        assert not health.hangs(now)


@given(settings, histories, st.floats(0, 5))
def test_a_well_engine_always_comes_back(
    given_settings: Settings, history: list[tuple[float, str]], extra: float
) -> None:
    """Whatever was, a probe that succeeds after the longest pause makes it ready."""
    health = Health(given_settings)
    now = 0.0
    for pause, event in history:
        now += pause
        if event.startswith("request failed"):
            health.request_failed(now)
        elif event.startswith("probe ok"):
            health.probe_succeeded(now)
        elif event.startswith("probe"):
            health.probe_failed()
        else:
            health.probe_unanswered(now - pause, now, progressed=False)
    health.probe_succeeded(now + given_settings.eject_max_seconds + extra)
    assert health.ready
