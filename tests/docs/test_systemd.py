"""The unit for systemd agrees with the command line and with the drain."""

from configparser import ConfigParser
from pathlib import Path

import pytest

from gateway.cli import main
from gateway.config import Drain

UNIT = Path(__file__).parents[2] / "deploy/systemd/spillway.service"


@pytest.fixture
def service() -> dict[str, str]:
    parser = ConfigParser(interpolation=None)
    parser.read(UNIT)
    return dict(parser["Service"])


def test_it_waits_for_the_drain(service: dict[str, str]) -> None:
    drain = Drain()
    assert int(service["timeoutstopsec"]) > drain.delay_seconds + drain.timeout_seconds


def test_it_starts_the_gateway(service: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """With a file that is not here, which is all that is wrong with the command."""
    command = service["execstart"].split()
    assert command[0].endswith("/bin/spillway")
    assert main(command[1:]) == 2
    assert command[-1] in capsys.readouterr().err
