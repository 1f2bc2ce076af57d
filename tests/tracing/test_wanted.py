"""Which of OpenTelemetry's variables make a gateway trace, and which it says that it can't follow."""

import pytest

from gateway.telemetry import UntraceableError, start_tracing
from tests.support.config import config
from tests.support.gateway import gateway
from tests.support.site import fake_model
from tests.support.threads import EngineThread

WHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
GENERAL, OWN = "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {**WHERE, "OTEL_SDK_DISABLED": "true"},
        {**WHERE, "OTEL_TRACES_EXPORTER": "none"},
        {**WHERE, "OTEL_TRACES_EXPORTER": "none", GENERAL: "grpc"},
    ],
)
def test_not_wanted(environ: dict[str, str]) -> None:
    assert start_tracing(environ) is None


@pytest.mark.parametrize(
    "environ",
    [
        WHERE,
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"},
        {**WHERE, "OTEL_TRACES_EXPORTER": "otlp", GENERAL: "http/protobuf"},
        {**WHERE, GENERAL: "grpc", OWN: "http/protobuf"},
    ],
)
def test_wanted(environ: dict[str, str]) -> None:
    made = start_tracing(environ)
    assert made is not None
    made.close()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({GENERAL: "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL is grpc"),
        ({OWN: "http/json", GENERAL: "http/protobuf"}, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is http/json"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "OTEL_TRACES_EXPORTER is console"),
    ],
)
def test_wanted_otherwise(more: dict[str, str], said: str) -> None:
    with pytest.raises(UntraceableError, match=said):
        start_tracing({**WHERE, **more})


async def test_it_is_said_and_requests_are_served(engine_thread: EngineThread) -> None:
    with (
        engine_thread.engines(1) as fast,
        engine_thread.engines(1) as plain,
        gateway(config(fake_model(fast, plain)), env={**WHERE, GENERAL: "grpc"}) as running,
    ):
        assert running.get("/ready").status_code == 200
        await running.eventually(
            lambda: any("set it to http/protobuf" in line.get("message", "") for line in running.log)
        )
