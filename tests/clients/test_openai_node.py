"""The official npm client, under node's own test runner, against the same gateway."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from gateway.demo.engines import MODEL_NAME
from tests.clients.conftest import KEY
from tests.support.site import Site

FOLDER = Path(__file__).parent / "node"


async def run(*command: str, env: dict[str, str] | None = None) -> None:
    """Runs a command in the suite's folder. Raises AssertionError with its output when it fails."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=FOLDER,
        env={**os.environ, **(env or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


@pytest.fixture
async def installed() -> None:
    """The client as the lock file has it."""
    assert shutil.which("node"), "node is needed, 20 or newer"
    lock, marker = FOLDER / "package-lock.json", FOLDER / "node_modules" / ".package-lock.json"
    if not marker.exists() or marker.stat().st_mtime < lock.stat().st_mtime:
        await run("npm", "ci", "--no-audit", "--no-fund")


@pytest.mark.usefixtures("installed")
async def test_the_npm_client(here: Site) -> None:
    env = {"SPILLWAY_URL": here.gateway.base_url, "SPILLWAY_KEY": KEY, "SPILLWAY_MODEL": MODEL_NAME, "NO_PROXY": "*"}
    await run("node", "--test", "--test-reporter=spec", env=env)
    left = [
        request for request in here.speculative[0].requests if b'"hang"' in request.body or b'"go on"' in request.body
    ]
    assert len(left) == 3
    for request in left:
        await request.wait_gone()
    await here.gateway.assert_idle()
