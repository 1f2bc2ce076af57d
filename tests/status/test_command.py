"""`spillway status` as a process, asking real gateways and what is none."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from gateway import __version__
from tests.status.pages import ask, command, status
from tests.support.behaviours import Behaviour, End, fail, play
from tests.support.config import config, model
from tests.support.gateway import gateway
from tests.support.site import Site, fake_model, site
from tests.support.threads import EngineThread
from tests.support.wire import json_reply, reply


@pytest.fixture(scope="module")
def here(engine_thread: EngineThread) -> Iterator[Site]:
    with site(engine_thread) as running:
        yield running


def test_a_gateway(here: Site) -> None:
    ended = ask("--url", here.gateway.base_url)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"spillway {__version__}")
    assert "model fake\n  policy  threshold 5 per ready speculative replica, mode spill\n" in ended.stdout
    assert f"  {here.speculative[0].url}" in ended.stdout
    assert "  baseline             0    128  1 of 1\n" in ended.stdout


@pytest.mark.parametrize("ending", ["/", "/status", "/status/"])
def test_urls_as_they_are_copied(here: Site, ending: str) -> None:
    assert ask("--url", here.gateway.base_url + ending).returncode == 0


def test_json_is_the_gateways_answer(here: Site) -> None:
    ended = ask("--url", here.gateway.base_url, "--json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout) == here.gateway.status()


def test_a_proxy_of_the_environment_is_not_asked(here: Site) -> None:
    assert ask("--url", here.gateway.base_url, env={"http_proxy": "http://127.0.0.1:1"}).returncode == 0


def test_replicas_in_trouble() -> None:
    dead = [f"http://127.0.0.1:{port}" for port in range(1, 31)]
    with gateway(config(model(baseline=dead)), "/health") as running:
        ended = ask("--url", running.base_url, "--replicas", "4")
    lines = ended.stdout.splitlines()
    assert sum("ejected" in line for line in lines if "http://" in line) == 4
    assert lines[-1] == "  … 26 more: 26 ejected"


def test_another_address_for_operators(engine_thread: EngineThread) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        admin = {"host": "127.0.0.1", "port": bound.getsockname()[1]}
    with (
        engine_thread.engines(1) as engines,
        gateway(config(fake_model([], engines), admin=admin)) as running,
    ):
        ended = ask("--url", running.base_url)
        assert ended.returncode == 1
        assert "404: there is no /status here: a gateway with admin in its configuration has it there" in ended.stderr
        assert ask("--url", f"http://127.0.0.1:{admin['port']}").returncode == 0


def test_tls_with_an_authority_of_ones_own(engine_thread: EngineThread, tmp_path: Path) -> None:
    authority, files = trustme.CA(), {"tls_cert": tmp_path / "cert.pem", "tls_key": tmp_path / "key.pem"}
    certificate = authority.issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(files["tls_cert"])
    certificate.private_key_pem.write_to_path(files["tls_key"])
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    url, tls = f"https://127.0.0.1:{port}", {name: str(path) for name, path in files.items()}
    admin = {"host": "127.0.0.1", "port": port, **tls}
    with engine_thread.engines(1) as engines, gateway(config(fake_model([], engines), admin=admin)):
        refused = ask("--url", url)
        assert refused.returncode == 1
        assert "certificate refused: " in refused.stderr
        assert "name its authority's file with --ca-file" in refused.stderr
        assert ask("--url", url, "--ca-file", str(tmp_path / "ca.pem")).returncode == 0
        assert ask("--url", url, "--insecure").returncode == 0
        plain = ask("--url", f"http://127.0.0.1:{port}")
        assert plain.returncode == 1
        assert "is this an https port?" in plain.stderr


def test_https_where_there_is_none(here: Site) -> None:
    ended = ask("--url", here.gateway.base_url.replace("http:", "https:"))
    assert ended.returncode == 1
    assert "no TLS connection: is this an http port?" in ended.stderr


def test_nobody_there() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        ended = ask("--url", url)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"{url}/status: connection refused: is the gateway running, and is this its address?\n"


def test_a_host_that_is_none() -> None:
    ended = ask("--url", "http://nowhere.invalid:8080")
    assert ended.returncode == 1
    assert "http://nowhere.invalid:8080/status: the host does not resolve: " in ended.stderr


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (fail(401), "401: something in front of the gateway wants credentials"),
        (fail(403), "403: something in front of the gateway wants credentials"),
        (play(reply(302, b"", (("location", "/login"),))), "302: this leads elsewhere"),
        (fail(500), "500: is this a Spillway gateway?"),
        (play(reply(200, b"<html>hello</html>")), "the answer is no JSON: is this a Spillway gateway?"),
        (play(reply(200, b"\xff\xfe")), "the answer is no JSON: is this a Spillway gateway?"),
        (play(json_reply(200, ["ok"])), "the answer is no JSON object"),
        (play(json_reply(200, {"status": "ok"})), "the answer is no status as known here: "),
        (play(b"hello\r\n\r\n", End.CLOSE), "no HTTP ("),
        (play(End.CLOSE), "no HTTP ("),
        (play(End.RESET), "connection reset by peer"),
        (play(End.HANG), "no answer within 0.5 s"),
    ],
)
def test_what_is_no_gateway(engine_thread: EngineThread, behaviour: Behaviour, words: str) -> None:
    with engine_thread.engines(1) as (other,):
        other.respond = behaviour
        ended = ask("--url", other.url, "--timeout", "0.5")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert words in ended.stderr
    assert ended.stderr.startswith(f"{other.url}/status: ")
    assert len(ended.stderr.splitlines()) == 1


def test_json_of_another_version_is_printed_as_it_is(engine_thread: EngineThread) -> None:
    with engine_thread.engines(1) as (other,):
        other.respond = play(json_reply(200, {"shape": "new", "text": "€"}))
        ended = ask("--url", other.url, "--json")
    assert (ended.returncode, json.loads(ended.stdout)) == (0, {"shape": "new", "text": "€"})


@pytest.mark.parametrize(
    "arguments",
    [
        ["--interval", "0"],
        ["--interval", "soon"],
        ["--timeout", "-1"],
        ["--replicas", "some"],
        ["--ca-file", "a", "--insecure"],
        ["extra"],
    ],
)
def test_bad_command_lines(arguments: list[str]) -> None:
    ended = ask(*arguments)
    assert ended.returncode == 2
    assert "usage: spillway" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--url", "localhost:8080"], "localhost:8080: no usable URL: give one such as http://127.0.0.1:8080"),
        (["--url", "http://"], "http://: no usable URL"),
        (["--url", "http://[::1"], "http://[::1: no usable URL"),
        (["--ca-file", "/nowhere"], "/nowhere: no such file or directory"),
        (["--ca-file", os.devnull], "/dev/null: holds no certificate in PEM form"),
    ],
)
def test_arguments_that_can_not_be_used(arguments: list[str], words: str) -> None:
    ended = ask(*arguments)
    assert ended.returncode == 1
    assert ended.stderr.startswith(words)


def test_a_watch_goes_on_until_it_is_interrupted(engine_thread: EngineThread) -> None:
    """Also while the gateway restarts."""
    with engine_thread.engines(1) as (other,):
        other.respond = play(json_reply(200, status()))
        arguments = command("--url", other.url, "--watch", "--interval", "0.05")
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
            assert watch.stdout is not None
            stop = threading.Timer(60, watch.kill)
            stop.start()
            seen: list[str] = []
            for wanted in ("spillway 9.9.9, serving\n", f"{other.url}/status: 503: ", "spillway 9.9.9, serving\n"):
                other.respond = fail(503) if "503" in wanted else play(json_reply(200, status()))
                while not (line := watch.stdout.readline()).startswith(wanted):
                    assert line, seen
                    seen.append(line)
            watch.send_signal(signal.SIGINT)
            _, stderr = watch.communicate(timeout=30)
            stop.cancel()
    assert watch.returncode == 0
    assert stderr == ""
    assert any("every 0.05 s, Ctrl-C ends" in line for line in seen)


def test_a_watch_of_nobody_ends_at_once() -> None:
    assert ask("--watch", "--url", "http://127.0.0.1:1").returncode == 1


def test_a_reader_that_has_seen_enough(here: Site) -> None:
    arguments = " ".join(command("--url", here.gateway.base_url, "--watch", "--interval", "0.01", "--json"))
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{arguments} | head -n 2"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [json.loads(line)["version"] for line in ended.stdout.splitlines()] == [__version__] * 2
