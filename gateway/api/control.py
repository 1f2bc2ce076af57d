"""The control plane: health, readiness, models, status, metrics."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.exceptions import HTTPException

from gateway import __version__
from gateway.api.auth import Keys
from gateway.api.errors import ApiError, unknown_model
from gateway.api.listing import list_models
from gateway.api.status import describe
from gateway.models import Models

_OPERATORS = ("status", "ui", "metrics")


@dataclass(frozen=True)
class Control:
    """What the control plane tells about. `gateway`: an id; `draining` and `keys` are asked at each request."""

    gateway: str
    models: Models
    registry: CollectorRegistry
    draining: Callable[[], bool]
    keys: Callable[[], Keys]
    started: int


def public_app(control: Control, *, alone: bool = False) -> FastAPI:
    """What clients and the kubelet may ask: /health, /ready, /v1/models. `alone`: the rest is at another address."""
    app = _new_app(alone)

    @app.api_route("/health", methods=["GET", "HEAD"])
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.api_route("/ready", methods=["GET", "HEAD"])
    async def ready() -> JSONResponse:
        states = {model.config.name: model.serves() for model in control.models}
        draining = control.draining()
        fit = all(states.values()) and not draining
        body = {"status": "draining" if draining else "ready" if fit else "unready", "models": states}
        return JSONResponse(body, status_code=200 if fit else 503)

    @app.get("/v1/models")
    async def models(request: Request) -> dict[str, Any]:
        control.keys().check(dict(request.headers.raw))
        return list_models(control.models, control.started)

    @app.get("/v1/models/{name:path}")
    async def model(name: str, request: Request) -> dict[str, Any]:
        control.keys().check(dict(request.headers.raw))
        for entry in list_models(control.models, control.started)["data"]:
            if entry["id"] == name:
                return dict(entry)
        raise unknown_model(name, control.models.names)

    return app


def add_admin(app: FastAPI, control: Control) -> FastAPI:
    """Add what operators ask: /status, /metrics."""

    @app.get("/status")
    async def status() -> dict[str, Any]:
        if control.models.shared is not None:
            await control.models.shared.refresh()
        return describe(control.models, gateway=control.gateway, draining=control.draining())

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(control.registry), headers={"content-type": content_type})

    return app


def _new_app(alone: bool) -> FastAPI:
    app = FastAPI(title="Spillway", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)

    @app.exception_handler(ApiError)
    async def refuse(_: Request, error: ApiError) -> Response:
        headers = {name.decode(): value.decode() for name, value in error.headers}
        return Response(error.body(), error.status, headers, media_type="application/json")

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        path, method = request.url.path, request.method
        if error.status_code == 405:
            failure = ApiError(405, f"{path} does not take {method}; use GET.", code="method_not_allowed")
        else:
            ours = "/health and /ready" if alone else "/health, /ready, /status, /ui and /metrics"
            advice = f"OpenAI's endpoints are under /v1/; {ours} are ours."
            if alone and path.strip("/").partition("/")[0] in _OPERATORS:
                advice = "The gateway serves it at its admin address."
            failure = ApiError(404, f"There is nothing at {path}. {advice}", code="unknown_path")
        return Response(failure.body(), error.status_code, error.headers, media_type="application/json")

    return app


def admin_app(control: Control) -> FastAPI:
    """The control plane on an address of its own."""
    return add_admin(public_app(control), control)
