"""A gateway process that follows the stand-in, engines registered there by real kubectl, and clients all the while."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
import yaml

from tests.kube.conftest import Kubectl
from tests.kube.shapes import SERVICE, Object, endpoint, endpoint_slice
from tests.support import config as files
from tests.support.gateway import Gateway, gateway
from tests.support.site import CHAT, chat

CALLERS = 8


class Engine(Protocol):
    """Scripted or real: it listens on a port of its own at 127.0.0.1."""

    @property
    def url(self) -> str: ...


def label(engine: Engine) -> str:
    """How headers name the engine."""
    return urlsplit(engine.url).netloc


def slice_name(engine: Engine) -> str:
    return f"k2-{urlsplit(engine.url).port}"


def registration(engine: Engine, made: Callable[..., Object] = endpoint, service: str = SERVICE) -> str:
    """A slice with this engine alone, as YAML: each listens on a port of its own on one address."""
    name = slice_name(engine)
    port = {"name": "http", "port": urlsplit(engine.url).port, "protocol": "TCP"}
    endpoints = [made("127.0.0.1", f"pod-{name}")]
    return yaml.safe_dump(endpoint_slice(name, endpoints, ports=[port], service=service))


@dataclass
class Cluster:
    """The gateway, and kubectl to tell it of engines."""

    gateway: Gateway
    kubectl: Kubectl

    async def apply(self, *registrations: str) -> None:
        await asyncio.to_thread(self.kubectl, "apply", "-f", "-", stdin="\n---\n".join(registrations))

    async def delete(self, engine: Engine) -> None:
        await asyncio.to_thread(self.kubectl, "delete", "endpointslice", slice_name(engine))

    def replica(self, engine: Engine, role: str = "baseline") -> dict[str, Any]:
        """What /status says of it; nothing if it is no replica."""
        replicas = self.gateway.pool_status(role)["replicas"]
        return next((dict(one) for one in replicas if one["url"] == engine.url), {})

    async def serves(self, *engines: Engine, role: str = "baseline", seconds: float = 5.0) -> None:
        """Wait until exactly these take requests."""
        wanted = sorted(engine.url for engine in engines)

        def ready() -> list[str]:
            replicas = self.gateway.pool_status(role)["replicas"]
            return sorted(one["url"] for one in replicas if one["state"] == "ready")

        await self.gateway.eventually(lambda: ready() == wanted, seconds)


def discovered(service: str = SERVICE, **kubernetes: object) -> files.Settings:
    """A pool's settings: what the Service has."""
    discovery = {"kubernetes": {"service": service, "port": "http", "resync_seconds": 5, **kubernetes}}
    return {"discovery": discovery, "health": files.QUICK_HEALTH}


@contextmanager
def cluster(kubectl: Kubectl, kubeconfig: Path, settings: files.Settings | None = None) -> Iterator[Cluster]:
    """One model with a baseline pool, unless told otherwise."""
    made = settings or files.config(files.model(baseline=discovered()))
    with gateway(made, "/health", env={"KUBECONFIG": str(kubeconfig)}) as running:
        yield Cluster(running, kubectl)


@dataclass
class Load:
    """Callers that send one request after the other, and what became of them.

    `answered` and `broken` have the replicas of those answered in full and of those broken off after they had begun,
    `failed` what was said to the others.
    """

    body: dict[str, Any]
    answered: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    async def call(self, client: httpx.AsyncClient, *, stream: bool) -> None:
        async with client.stream("POST", CHAT, json=self.body | {"stream": stream}) as response:
            body = b""
            async for piece in response.aiter_bytes():
                body += piece
        replica = response.headers.get("x-spillway-replica", "")
        whole = body.endswith(b"data: [DONE]\n\n") if stream else b'"choices"' in body
        if response.status_code == 200 and whole and b'"error"' not in body:
            self.answered.append(replica)
        elif stream and b'"choices"' in body:
            self.broken.append(replica)
        else:
            self.failed.append(f"{response.status_code} {replica} {body[:200]!r}")


@asynccontextmanager
async def load(
    here: Cluster, body: dict[str, Any] | None = None, streaming: int = CALLERS, whole: int = 0, patience: float = 10.0
) -> AsyncIterator[Load]:
    """So many callers of streams, and of responses in one piece, until the end; each finishes what it has begun."""
    made, over = Load(body or chat()), asyncio.Event()
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=here.gateway.base_url, timeout=patience, trust_env=False, limits=limits
    ) as client:

        async def calling(stream: bool) -> None:
            while not over.is_set():
                await made.call(client, stream=stream)

        async with asyncio.TaskGroup() as group:
            for number in range(streaming + whole):
                group.create_task(calling(number < streaming))
            yield made
            over.set()
