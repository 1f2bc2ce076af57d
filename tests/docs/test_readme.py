"""Every command and file that the pages show, run: in front of engines of the tests, in the order of the pages.

Not run here are `make` targets, which take minutes or would start this suite anew: `make -n` says that they exist. What
`make demo` does is tested by the suite of `spillway demo --check`.
"""

import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.demo import DEFAULT_PORT, report
from gateway.demo.engines import MODEL_NAME
from tests.docs.markdown import PAGES, REPOSITORY, Block, all_blocks, blocks, codes
from tests.docs.session import Session, dry_run, free_port
from tests.support.threads import EngineThread

README = REPOSITORY / "README.md"
INSTALL = "/opt/spillway"
COMMANDS = [block for block in all_blocks("sh") if not block.make_targets]
SERVING = [block for block in COMMANDS if "spillway serve" in block.text]
INSTALLING = [block for block in COMMANDS if INSTALL in block.text]
ASKING = [block for block in (*COMMANDS, *all_blocks("python")) if block not in (*SERVING, *INSTALLING)]
TARGETS = {
    *(target for block in all_blocks("sh") for target in block.make_targets),
    *(code.removeprefix("make ") for page in PAGES for code in codes(page.read_text()) if code.startswith("make ")),
}


@pytest.fixture(scope="module")
def session(engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The gateway as the README's own command starts it, from the README's own file."""
    [serve] = SERVING
    with free_port() as port, engine_thread.engines(2) as (fast, plain):
        places = {
            "10.0.0.1:30000": fast.label,
            "10.0.0.2:30000": plain.label,
            f"localhost:{DEFAULT_PORT}": f"localhost:{port}",
        }
        files = [block for block in all_blocks("yaml") if block.file_name]
        running = Session(tmp_path_factory.mktemp("readme"), places, files)
        env = {
            "SPILLWAY_LISTEN__HOST": "127.0.0.1",
            "SPILLWAY_LISTEN__PORT": str(port),
            "SPILLWAY_DRAIN__DELAY_SECONDS": "0",
            # One gateway stands for the demo's as well.
            "SPILLWAY_MODELS__0__ALIASES": f"[k2, {MODEL_NAME}]",
        }
        with running.serving(serve, f"http://127.0.0.1:{port}", env):
            yield running


@pytest.mark.parametrize("block", ASKING, ids=[block.id for block in ASKING])
def test_commands_work_and_print_what_is_shown(session: Session, block: Block) -> None:
    printed = session.run(block)
    assert printed.strip()
    if block.output is not None:
        assert [line.strip() for line in printed.splitlines()] == [line.strip() for line in block.output.splitlines()]


def test_the_log_has_the_lines_that_are_shown(session: Session) -> None:
    [example] = [block for block in ASKING if "kimi-k2.5" in block.text and block.output]
    session.run(example)
    [shown] = all_blocks("json")
    assert list(session.log_line("request")) == list(json.loads(shown.text))


def test_it_installs(tmp_path: Path) -> None:
    [block] = INSTALLING
    target = tmp_path / "installed"
    # Offline: what it depends on is taken from this environment.
    env = {
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    printed = Session(tmp_path, {INSTALL: str(target)}, []).run(block, folder=REPOSITORY, env=env)
    assert "Successfully installed spillway" in printed
    assert list(target.glob("lib/python*/site-packages/gateway/py.typed"))


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_make_knows_the_target(target: str) -> None:
    dry_run(target)


def test_the_demos_table_is_shown_as_it_is_printed() -> None:
    [shown] = [block.text for block in blocks(README) if "TTFT p50" in block.text]
    heads = report.header().splitlines()
    assert shown.splitlines()[: len(heads)] == heads
    assert {len(line) for line in shown.splitlines()} == {len(heads[-1])}
