"""What alerts are on is exposed as 0 before it happens: Prometheus sees no rise in a series that begins above 0."""

from tests.support.config import config
from tests.support.site import fake_model, site
from tests.support.threads import EngineThread

PLACES = [f'model="fake",pool="{pool}"' for pool in ("speculative", "baseline")]
SERIES = {
    'spillway_requests_total{code="429",ended="refused",model="fake",pool="none"}',
    *(f"spillway_broken_responses_total{{{place}}}" for place in PLACES),
    *(
        f'spillway_retries_total{{{place},reason="{reason}"}}'
        for place in PLACES
        for reason in ("connect", "reset", "status")
    ),
    *(f'spillway_cancelled_total{{phase="{phase}"}}' for phase in ("body", "queued", "before_first_byte", "streaming")),
}


def zeros(page: str) -> set[str]:
    """The series that stand at 0, their labels in order of name."""
    found = set()
    for line in page.splitlines():
        series, _, value = line.rpartition(" ")
        if value == "0.0" and "{" in series:
            name, _, labels = series.removesuffix("}").partition("{")
            found.add(f"{name}{{{','.join(sorted(labels.split(',')))}}}")
    return found


async def test_failures_begin_at_nothing(engine_thread: EngineThread) -> None:
    with site(engine_thread) as here:
        assert zeros(here.gateway.get("/metrics").text) >= SERIES
        here.gateway.write_config(config({**fake_model(here.speculative, here.baseline), "name": "more"}))
        more = {series.replace('model="fake"', 'model="more"') for series in SERIES}
        await here.gateway.eventually(lambda: more <= zeros(here.gateway.get("/metrics").text), 10.0)
