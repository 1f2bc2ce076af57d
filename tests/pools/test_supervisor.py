"""What a reload does to the clients that probe: new ones only where a certificate authority is another."""

import asyncio
import gc
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import certifi
import httpx
import pytest

from gateway.config import PoolConfig
from gateway.pools import Pool
from gateway.relay import Connections
from gateway.supervisor import Supervisor
from tests.pools.engine import Engine, an_engine

QUICK = {"path": "/health", "interval": 0.02, "timeout": 0.05}


def edit(ca_file: Path) -> None:
    """Another file with the same authorities."""
    ca_file.write_bytes(ca_file.read_bytes() + b"\n")


def clients() -> set[int]:
    """The open clients there are in this process."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if isinstance(each, httpx.AsyncClient) and not each.is_closed}


@pytest.fixture
def ca_file(tmp_path: Path) -> Path:
    """The authorities that everyone trusts, in a file of this test's own."""
    return Path(shutil.copyfile(certifi.where(), tmp_path / "ca.pem"))


@asynccontextmanager
async def supervised(engine: Engine, ca_file: Path) -> AsyncIterator[tuple[Supervisor, Pool]]:
    """A pool of one replica, probed by a supervisor."""
    supervisor = Supervisor(Connections(time.monotonic), time.monotonic, lambda *_: None, lambda *_: None)
    changed = asyncio.Event()
    pool = Pool("m", "speculative", supervisor, changed.set)
    config = {"discovery": {"static": [engine.url]}, "health": QUICK, "tls": {"ca_file": str(ca_file)}}
    pool.reconfigure(PoolConfig.model_validate(config))
    try:
        async with asyncio.timeout(5):
            await changed.wait()
        yield supervisor, pool
    finally:
        await supervisor.close()


async def test_a_reload_of_the_same_files_makes_no_clients(ca_file: Path) -> None:
    """Each has a TLS context of most of a MiB."""
    async with an_engine() as engine, supervised(engine, ca_file) as (supervisor, _):
        before = clients()
        for _ in range(5):
            supervisor.reload_certificates()
            await engine.probed(2)
        assert clients() == before


async def test_a_changed_file_is_read_and_the_old_client_closed(ca_file: Path) -> None:
    async with an_engine() as engine, supervised(engine, ca_file) as (supervisor, pool):
        before = clients()
        edit(ca_file)
        supervisor.reload_certificates()
        await engine.probed(2)
        assert clients() > before
        await asyncio.sleep(1.3)
        after = clients()
        assert len(after) == len(before)
        assert after != before
        assert pool.ready
        supervisor.reload_certificates()
        await engine.probed(2)
        assert clients() == after
