"""One engine server."""

from enum import StrEnum
from urllib.parse import urlsplit

from gateway.config import PoolConfig
from gateway.pools.engine_load import EngineLoad
from gateway.pools.health import Health
from gateway.routing import digest


class State(StrEnum):
    """READY takes new requests; EJECTED is known and unwell; DRAINING was removed and finishes what it has."""

    READY = "ready"
    EJECTED = "ejected"
    DRAINING = "draining"


class Replica:
    """A base URL with its in-flight count and health. `inflight` changes through leases only.

    `outside` counts what its engine holds beside, as far as `engine_load` says; that is None where engines are not
    asked. `elsewhere` counts what other gateways hold on it, as far as is known.
    """

    __slots__ = (
        "__weakref__",
        "config",
        "digest",
        "elsewhere",
        "engine_load",
        "engine_models",
        "health",
        "inflight",
        "label",
        "outside",
        "removed",
        "url",
    )

    def __init__(self, url: str, config: PoolConfig) -> None:
        """`config` is the pool's; a reload replaces it."""
        self.url = url
        self.label = urlsplit(url).netloc
        self.digest = digest(url.encode())
        self.config = config
        self.health = Health(config.health)
        self.inflight = 0
        self.elsewhere = 0
        self.outside = 0
        self.engine_load: EngineLoad | None = None
        self.removed = False
        self.engine_models: tuple[dict[str, object], ...] = ()

    @property
    def state(self) -> State:
        """What it may do now."""
        if self.removed:
            return State.DRAINING
        return State.READY if self.health.ready else State.EJECTED

    @property
    def error(self) -> str | None:
        """Why it is not ready, in a few words; None if it is."""
        trouble = self.health.trouble
        return None if trouble is None else trouble.text

    def reconfigure(self, config: PoolConfig) -> None:
        """Take over the pool's settings after a reload."""
        self.config = config
        self.health.settings = config.health
