"""One gateway process: control plane, relay and background tasks, from start to drained."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gateway import __version__
from gateway.api.auth import Keys
from gateway.api.control import Control
from gateway.api.status import describe
from gateway.config import ConfigError, ConfigWatcher, Loaded, ModelConfig, Problem, Redis, ReloadResult
from gateway.listeners import Edge, ListenError, cross_origin, open_servers
from gateway.load.shared import SharedCounts, gateway_id
from gateway.models import Models
from gateway.pools import Pool
from gateway.relay import Connections, Relay, RetryBudget, Settings, Watchdog
from gateway.server import Server
from gateway.supervisor import Supervisor
from gateway.telemetry import (
    AdaptiveCollector,
    EngineLoadCollector,
    LineWriter,
    LoadCollector,
    Metrics,
    SharedCountsCollector,
    Telemetry,
    Tracing,
    UntraceableError,
    configure_logging,
    start_tracing,
)
from gateway.ui import Live

__all__ = ["Gateway", "ListenError", "allow_many_connections", "serve"]

_log = logging.getLogger("spillway")
# uvicorn calls it an error when there was no time to close idle connections in.
_ADMIN_SECONDS = 1.0


class Gateway:
    """Wires the parts together. Make it inside the event loop that runs it."""

    def __init__(self, loaded: Loaded) -> None:
        """Start from a validated configuration."""
        config, clock = loaded.config, time.monotonic
        self._loaded = loaded
        self._draining = self._refused = False
        self._listening: list[Server] = []
        self._second_signal = asyncio.Event()
        self._stop = asyncio.Event()
        call_later = asyncio.get_running_loop().call_later
        self._writer = LineWriter(sys.stdout.fileno(), call_later)
        self.metrics = Metrics()
        self._settings = Settings(config.limits, Keys(loaded.client_keys))
        access_log = self._writer if config.log.access else None
        self._telemetry = Telemetry(self.metrics, clock, access_log, call_later)
        self._edge = Edge(config.limits, cross_origin(config.cors), self._telemetry.refused)
        self._watchdog = Watchdog(config.limits)
        self._budget = RetryBudget(config.retries)
        connections = Connections(clock)
        self._supervisor = Supervisor(connections, clock, self._count_discovery_error, self._count_load_error)
        self._id = gateway_id()
        self._shared = self._share(config.redis) if config.redis else None
        self._edge.between = self._shared.look if self._shared else None
        self.models = Models(self._supervisor, clock, self._shared)
        self._serve(config.models)
        self.metrics.registry.register(
            LoadCollector(self.models.with_requests, lambda: self._writer.dropped, connections.progress)
        )
        AdaptiveCollector(self.models.with_requests, self.metrics.registry)
        self._engine_load = EngineLoadCollector(self.models.with_requests, self.metrics.registry)
        self._telemetry.tracing = _traces()
        self._live = Live(self.models, self._telemetry, self._streaming, self._status, clock)
        self._relay = Relay(
            self.models,
            self._settings,
            connections,
            self._telemetry,
            self._watchdog,
            self._budget,
            self._supervisor.suspect,
            clock,
        )

    def _share(self, settings: Redis) -> SharedCounts:
        waits = SharedCountsCollector(lambda: self.models.with_requests(), self.metrics.registry)
        shared = SharedCounts(settings, self._id, waits.waited)
        waits.failures = shared.failures
        return shared

    async def run(self, path: Path, load: Callable[[], Loaded]) -> None:
        """Serve until SIGTERM or SIGINT, then drain. `load` reads the configuration anew.

        Raises:
            ListenError: an address can't be listened on.
        """
        try:
            await self._run(self._servers(), path, load)
        finally:
            if self._shared is not None:
                await self._shared.close()
            await self._supervisor.close()
            self._telemetry.settle()
            if self._telemetry.tracing is not None:
                await asyncio.to_thread(self._telemetry.tracing.close)
            self._writer.close()

    async def _run(self, servers: list[Server], path: Path, load: Callable[[], Loaded]) -> None:
        self._listening = servers
        watcher = ConfigWatcher(path, load, self.apply, on_result=self._reloaded, current=self._loaded)
        self._handle_signals(watcher)
        self._warn()
        # What was made so far lives as long as the process: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000)  # requests leave few cycles behind, and looking for them costs 2 µs each at 700
        background = [asyncio.create_task(it.run()) for it in (self._watchdog, watcher, self._live)]
        serving = [asyncio.create_task(server.run_until_stopped()) for server in servers]
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((stopping, *serving), return_when=asyncio.FIRST_COMPLETED)
            await self._drain(servers, serving)
        finally:
            for task in (*background, stopping):
                task.cancel()

    def _warn(self) -> None:
        for warning in self._loaded.warnings:
            _log.warning("configuration: %s", warning)

    def apply(self, loaded: Loaded) -> None:
        """Take over a validated configuration, whole.

        Raises:
            ConfigError: it changes what only a restart can change; nothing was taken over.
        """
        config, now = loaded.config, self._loaded.config
        problems = [
            Problem("can't change while running: restart the gateway, or set it back", field=name)
            for name in ("listen", "admin", "redis")
            if getattr(config, name) != getattr(now, name)
        ]
        if problems:
            raise ConfigError(problems)
        for server in self._listening:
            server.reload_certificate()
        self._supervisor.reload_certificates()
        self._settings.limits = self._watchdog.limits = self._edge.limits = config.limits
        self._edge.cross_origin = cross_origin(config.cors)
        self._settings.keys = Keys(loaded.client_keys)
        self._budget.reconfigure(config.retries)
        self._telemetry.access_log = self._writer if config.log.access else None
        logging.getLogger().setLevel(config.log.level.upper())
        self._serve(config.models)
        self._loaded = loaded
        self._warn()

    def _serve(self, models: tuple[ModelConfig, ...]) -> None:
        self.models.reconfigure(models)
        for model in models:
            self.metrics.expect(model.name, [role for role, pool in model.pools if pool is not None])

    def _status(self) -> dict[str, Any]:
        return describe(self.models, gateway=self._id, draining=self._draining)

    def _streaming(self) -> Iterator[tuple[tuple[str, str], int]]:
        for lease, events in self._watchdog.streaming():
            if isinstance(lease.pool, Pool):
                yield (lease.pool.model, lease.pool.role), events

    def _servers(self) -> list[Server]:
        config = self._loaded.config
        control = Control(
            gateway=self._id,
            models=self.models,
            registry=self.metrics.registry,
            draining=lambda: self._draining,
            keys=lambda: self._settings.keys,
            started=int(time.time()),
        )
        servers = open_servers(self._relay, control, self._live, self._edge, config)
        served = ", ".join(f"{model.name} ({model.policy.kind})" for model in config.models)
        _log.info("spillway %s, configuration %s: %s", __version__, self._loaded.sources[0].path, served)
        for server, verb in zip(servers, ("listening", "admin listening"), strict=False):
            _log.info("%s on %s:%d", verb, *server.address)
        return servers

    def _handle_signals(self, watcher: ConfigWatcher) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        loop.add_signal_handler(signal.SIGHUP, watcher.trigger)

    def _signalled(self) -> None:
        if self._draining:
            self._second_signal.set()
        self._draining = self._settings.closing = True
        self._live.close()
        self._stop.set()

    async def _drain(self, servers: list[Server], serving: list[asyncio.Task[None]]) -> None:
        """Unready but serving; then no new connections while streams finish; a second signal cuts both short."""
        drain = self._loaded.config.drain
        public, *others = servers
        text = "draining: unready for %g s, then up to %g s for streams; a second signal ends at once"
        _log.info(text, drain.delay_seconds, drain.timeout_seconds)
        await self._unless_signalled(drain.delay_seconds)
        public.stop(0.0 if self._second_signal.is_set() else drain.timeout_seconds)
        hurried = asyncio.create_task(self._second_signal.wait())
        await asyncio.wait((serving[0], hurried), return_when=asyncio.FIRST_COMPLETED)
        if not serving[0].done():
            public.force()
        for server in others:
            server.stop(_ADMIN_SECONDS)
        await asyncio.gather(*serving, return_exceptions=True)
        hurried.cancel()
        _log.info("drained")

    async def _unless_signalled(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._second_signal.wait()

    def _count_discovery_error(self, pool: Pool, kind: str) -> None:
        self.metrics.discovery_errors.add((pool.model, pool.role, kind))

    def _count_load_error(self, pool: Pool, kind: str) -> None:
        self._engine_load.errors.add((pool.model, pool.role, kind))

    def _reloaded(self, result: ReloadResult) -> None:
        if result.outcome == "refused":
            self._refused = True
            self.metrics.reloads.add(("refused",))
            self.metrics.config_valid.set(0)
            for problem in result.error.problems if result.error else ():
                _log.error("configuration refused, the old one keeps serving: %s", problem)
            return
        self.metrics.config_valid.set(1)
        if result.outcome == "applied":
            self.metrics.reloads.add(("applied",))
            _log.info("configuration applied, sha256 %s", result.loaded.digest if result.loaded else "")
        else:
            _log.info("configuration %s", "is again the one that serves" if self._refused else "unchanged")
        self._refused = False


def _traces() -> Tracing | None:
    try:
        return start_tracing(os.environ)
    except UntraceableError as error:
        _log.warning("%s", error)
        return None


def allow_many_connections() -> None:
    """Raise the limit of open files to what the system allows: two for each request in flight."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def serve(path: Path, load: Callable[[], Loaded], loaded: Loaded) -> None:
    """Run a gateway until it has drained.

    Raises:
        ListenError: an address can't be listened on.
    """
    configure_logging(loaded.config.log.level)
    allow_many_connections()
    await Gateway(loaded).run(path, load)
