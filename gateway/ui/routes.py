"""The page's files and its event stream."""

from collections.abc import AsyncIterator
from importlib.resources import files

from fastapi import FastAPI
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from gateway.api.errors import ApiError
from gateway.ui.live import Live

_TYPES = {"css": "text/css", "html": "text/html", "js": "text/javascript"}
_PAGE = {it.name: it.read_bytes() for it in files("gateway.ui").joinpath("page").iterdir() if it.is_file()}
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def add_ui(app: FastAPI, live: Live) -> None:
    """Add /ui and what it loads."""

    @app.get("/ui")
    async def page() -> Response:
        return _file("index.html")

    @app.get("/ui/")
    async def with_slash() -> Response:
        return RedirectResponse("../ui")

    @app.get("/ui/events")
    async def events() -> Response:
        if live.closed:
            raise ApiError(503, "The gateway is shutting down.", code="shutting_down")
        return StreamingResponse(_until_gone(live), headers=_HEADERS, media_type="text/event-stream")

    @app.get("/ui/{name}")
    async def file(name: str) -> Response:
        if name not in _PAGE:
            raise ApiError(404, f"There is nothing at /ui/{name[:100]}.", code="unknown_path")
        return _file(name)


async def _until_gone(live: Live) -> AsyncIterator[bytes]:
    async for event in live.events():
        yield event


def _file(name: str) -> Response:
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(_PAGE[name], headers=_HEADERS, media_type=f"{kind}; charset=utf-8")
