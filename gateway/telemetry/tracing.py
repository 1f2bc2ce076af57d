"""Whether requests are traced. Knows the spans from outside, so that it works without OpenTelemetry's packages."""

from collections.abc import Mapping

from gateway.telemetry.record import Tracing

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class MissingPackagesError(Exception):
    """Traces are wanted, and can't be made; says what to install."""


def start_tracing(environ: Mapping[str, str]) -> Tracing | None:
    """What the environment asks for: traces where OpenTelemetry's variables name an endpoint, else None.

    Raises:
        MissingPackagesError: the extra `otel` is not installed.
    """
    if not any(environ.get(name) for name in _ENDPOINTS) or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        from gateway.telemetry.traces import Traces
    except ImportError as error:
        raise MissingPackagesError(f"no traces are made: install spillway[otel] ({error})") from error
    return Traces(environ)
