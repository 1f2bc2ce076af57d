"""Whether requests are traced. Knows the spans from outside, so that it works without OpenTelemetry's packages."""

from collections.abc import Mapping

from gateway.telemetry.record import Tracing

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SPOKEN = "http/protobuf"


class UntraceableError(Exception):
    """Traces are wanted, and can't be made; says what to change."""


def start_tracing(environ: Mapping[str, str]) -> Tracing | None:
    """What the environment asks for: traces where OpenTelemetry's variables name an endpoint, else None.

    Raises:
        UntraceableError: the extra `otel` is not installed, or traces are wanted by another protocol or exporter.
    """
    exporter = environ.get("OTEL_TRACES_EXPORTER", "otlp") or "otlp"
    if not any(environ.get(name) for name in _ENDPOINTS) or exporter == "none":
        return None
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if exporter != "otlp":
        raise UntraceableError(f"no traces are made: OTEL_TRACES_EXPORTER is {exporter}: there is otlp, or none")
    name = next(filter(environ.get, _PROTOCOLS), None)
    if name is not None and environ[name] != _SPOKEN:
        advice = f"set it to {_SPOKEN}, and the endpoint to a port that takes that, such as 4318"
        raise UntraceableError(f"no traces are made: {name} is {environ[name]}: {advice}")
    try:
        from gateway.telemetry.traces import Traces
    except ImportError as error:
        raise UntraceableError(f"no traces are made: {error}: in the checkout, pip install '.[otel]'") from error
    return Traces(environ)
