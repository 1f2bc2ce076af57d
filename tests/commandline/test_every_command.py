"""What all three programs do alike: output that nobody reads, options that they do not have, help."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway import __version__
from tests.support.config import config, model, write

PROGRAMS = {"spillway": "gateway.cli", "spillway-loadtest": "loadtest", "spillway-engine": "spillway_engine"}


def said(program: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A command to its end, with the environment's SPILLWAY_* only if given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SPILLWAY_")}
    command = [sys.executable, "-m", PROGRAMS[program], *arguments]
    return subprocess.run(command, env={**clean, **env}, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("spillway", "engine render kimi-k2.5/eagle3-tree"),
        ("spillway", "engine profiles"),
        ("spillway", "simulate --list"),
        ("spillway", "simulate --load closed:1 --requests 20"),
        ("spillway-loadtest", "prompts"),
        ("spillway-engine", "profiles"),
    ],
)
def test_nobody_reads_the_output(program: str, arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", PROGRAMS[program], *arguments.split()]
    try:
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(writing)
    complaints = [line for line in ended.stderr.splitlines() if not line.startswith(("warn:", "note:"))]
    assert (ended.returncode, complaints) == (141, [])


@pytest.mark.parametrize(
    ("program", "arguments", "usage"),
    [
        ("spillway", "status --colour", "spillway status"),
        ("spillway", "engine render x/y --colour", "spillway engine render"),
        ("spillway", "--colour status", "spillway"),
        ("spillway-loadtest", "prompts --colour", "spillway-loadtest prompts"),
        ("spillway-loadtest", "--colour prompts", "spillway-loadtest"),
        ("spillway-engine", "profiles --colour", "spillway-engine profiles"),
    ],
)
def test_an_option_that_there_is_not(program: str, arguments: str, usage: str) -> None:
    ended = said(program, *arguments.split())
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"usage: {usage} [-h]")
    assert ended.stderr.endswith(f"{usage}: error: unrecognized arguments: --colour\n")


@pytest.mark.parametrize("program", ["spillway", "spillway-loadtest"])
def test_the_version(program: str) -> None:
    assert said(program, "--version").stdout == f"{program} {__version__}\n"


@pytest.mark.parametrize("env", [{}, {"SPILLWAY_CONFIG": ""}])
@pytest.mark.parametrize("command", ["serve", "check-config"])
def test_no_configuration_file(command: str, env: dict[str, str]) -> None:
    ended = said("spillway", command, **env)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"spillway {command}: error: no configuration file: give" in ended.stderr
    assert "or set SPILLWAY_CONFIG" in ended.stderr


def test_the_file_that_the_environment_names(tmp_path: Path) -> None:
    path = tmp_path / "here.yaml"
    write(path, config(model(["http://10.0.0.1:1"])))
    ended = said("spillway", "check-config", SPILLWAY_CONFIG=str(path))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "models:" in ended.stdout


def test_a_probe_says_why_it_failed() -> None:
    ended = said("spillway-engine", "probe", "--port", "1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "spillway engine probe: no engine answers at http://localhost:1: connection refused\n"
