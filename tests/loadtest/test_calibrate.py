"""`spillway calibrate`: the threshold it finds, and the file that it patches."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from loadtest.threshold import CantWriteError, patched, set_threshold
from tests.support.behaviours import Behaviour, answer, play
from tests.support.exchange import Exchange
from tests.support.lacking import lacking
from tests.support.site import Site
from tests.support.wire import CHUNKED, LAST_CHUNK, SSE_HEADERS, chat_events, chunk, head

WITHOUT_JINJA2 = lacking("jinja2", "matplotlib")
GOOD = 2  # requests at once that the speculative engine below serves well
POOLS = "pools: {speculative: {discovery: {static: ['http://10.0.0.1:1']}}}"
FILE = """\
# Ours.
listen: {host: 127.0.0.1, port: 8080}   # inside only
models:
  - name: other
    policy: {kind: threshold, threshold: 9}
    pools: {speculative: {discovery: {static: ['http://10.0.0.1:1']}}}
  - name: k2   # the large one
    aliases: ["kimi"]
    policy:
      kind: threshold
      # Found on 1 May.
      threshold: 5      # requests
      allow_pinning: true
    pools: {speculative: {discovery: {static: ['http://10.0.0.1:1']}, max_inflight: 64}}
"""


def worse_beyond(limit: int) -> Behaviour:
    """Fast while so few requests are there, and far slower with more."""
    there = 0
    *events, done = chat_events(["word "] * 4, usage_tail=True)

    async def behave(exchange: Exchange) -> None:
        nonlocal there
        there += 1
        gap = 0.005 if there <= limit else 0.3
        steps: list[bytes | float] = [head(200, (*SSE_HEADERS, *CHUNKED))]
        for one in events:
            steps += [chunk(one), gap]
        try:
            await play(*steps)(exchange)
        finally:
            there -= 1
        # Not before it has left: the client sends its next request as soon as it has this.
        await play(chunk(done), LAST_CHUNK)(exchange)

    return behave


def calibrate(
    here: Site, *options: str, command: Sequence[str] = (sys.executable, "-m", "gateway.cli")
) -> subprocess.CompletedProcess[str]:
    """Runs it, over few and short levels."""
    command = [*command, "calibrate", "--url", here.gateway.base_url]
    command += ["--levels", "1,2,6", "--requests", "6", "--repeats", "1", "--settle", "0", "--no-level-warmup"]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=110)


def test_it_finds_the_crossing_and_writes_it(here: Site, tmp_path: Path) -> None:
    here.respond(answer(["word "] * 4, gap=0.06))
    here.speculative[0].respond = worse_beyond(GOOD)
    file = tmp_path / "spillway.yaml"
    file.write_text(FILE.replace("k2 ", "fake "))
    done = calibrate(here, "--write", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert f"policy.threshold: {GOOD} (as good by this run: " in done.stdout
    assert "The pools cross at 2." in done.stdout
    assert f"threshold 5 -> {GOOD}" in done.stdout
    assert file.read_text() == FILE.replace("k2 ", "fake ").replace("threshold: 5 ", f"threshold: {GOOD} ")
    levels = [line.split()[0] for line in done.stdout.splitlines() if line[:7].strip().isdecimal()]
    assert levels == ["1", "2", "3", "4", "5", "6"]  # those between were measured in a second sweep
    assert (tmp_path / "out" / "report.html").exists()


def test_where_speculation_never_pays_nothing_is_written(here: Site, tmp_path: Path) -> None:
    here.respond(answer(["word "] * 4))
    here.speculative[0].respond = answer(["word "] * 4, gap=0.1)
    file = tmp_path / "spillway.yaml"
    file.write_text(FILE.replace("k2 ", "fake "))
    done = calibrate(here, "--write", str(file), command=WITHOUT_JINJA2)
    assert done.returncode == 1, done.stderr  # without --out it needs nothing that the gateway does not
    assert "Speculation gained at no level" in done.stdout
    assert "threshold: 5 " in file.read_text()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    command = [*WITHOUT_JINJA2, "calibrate", "--url", "http://127.0.0.1:9", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install '.[loadtest]'" in done.stderr


@pytest.mark.parametrize(("model", "was"), [("k2", 5), ("kimi", 5), ("other", 9)])
def test_only_the_number_changes(model: str, was: int) -> None:
    text, before = patched(FILE, model, 12)
    assert before == was
    assert text == FILE.replace(f"threshold: {was}", "threshold: 12")


@pytest.mark.parametrize(
    "entry",
    [
        f"name: m\n    {POOLS}",
        f"name: m   # mine\n    policy:\n      kind: threshold # by load\n      mode: switch\n    {POOLS}",
        f"name: m\n    policy: {{mode: switch}}\n    {POOLS}",
        f"name: m\n    policy: {{}}\n    {POOLS}",
        f"{POOLS}\n    name: m",
        f"name: m\n    {POOLS}\n    policy:\n      queue: {{size: 1}}",
        f"{{name: m, {POOLS}}}",
    ],
)
def test_a_threshold_that_was_not_there(entry: str) -> None:
    text = f"models:\n  - {entry}\n"
    changed, was = patched(text, "m", 7)
    expected = yaml.safe_load(text)
    expected["models"][0].setdefault("policy", {})["threshold"] = 7
    assert yaml.safe_load(changed) == expected
    assert was is None
    assert all(line in changed for line in text.splitlines() if "#" in line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FILE.replace("name: k2", "name: k3").replace("kimi", "x"), "no model k2"),
        (FILE.replace("kind: threshold\n", "kind: pinned\n"), "is pinned"),
        (FILE.replace("max_inflight: 64", "max_inflight: 6"), "would not be valid"),
        ("models: [", "is not YAML"),
    ],
)
def test_what_can_not_be_patched_is_left_as_it_is(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "spillway.yaml"
    file.write_text(text)
    with pytest.raises(CantWriteError, match=said):
        set_threshold(file, "k2", 7)
    assert file.read_text() == text
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CantWriteError, match="No such file"):
        set_threshold(tmp_path / "none.yaml", "k2", 7)


WHOLE = b"""# What runs on rack 7
models:
  - name: k2
    policy: {threshold: 5}  # since May
    pools:
      speculative: {discovery: {static: ["http://10.0.0.1:30000"]}}
      baseline: {discovery: {static: ["http://10.0.0.2:30000"]}}
"""


@pytest.mark.parametrize(
    "before", [WHOLE, WHOLE.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + WHOLE], ids=["lf", "crlf", "bom"]
)
def test_nothing_else_of_the_file_changes(before: bytes, tmp_path: Path) -> None:
    file, link = tmp_path / "spillway.yaml", tmp_path / "link.yaml"
    file.write_bytes(before)
    file.chmod(0o640)
    link.symlink_to(file)
    assert set_threshold(link, "k2", 7) == 5
    assert file.read_bytes() == before.replace(b": 5", b": 7")
    assert (link.is_symlink(), file.stat().st_mode & 0o777) == (True, 0o640)
    assert sorted(tmp_path.iterdir()) == [link, file]


def test_a_new_line_ends_as_the_others_do(tmp_path: Path) -> None:
    file = tmp_path / "spillway.yaml"
    file.write_bytes(WHOLE.replace(b"{threshold: 5}", b"\n      kind: threshold").replace(b"\n", b"\r\n"))
    assert set_threshold(file, "k2", 7) is None
    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")


def test_a_file_for_reading_only(tmp_path: Path) -> None:
    file = tmp_path / "spillway.yaml"
    file.write_bytes(WHOLE)
    file.chmod(0o444)
    with pytest.raises(CantWriteError, match="for reading only"):
        set_threshold(file, "k2", 7)
    assert file.read_bytes() == WHOLE


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    file = tmp_path / "spillway.yaml"
    file.write_bytes(WHOLE.replace(b"rack", b"R\xe4ck"))
    with pytest.raises(CantWriteError, match="not UTF-8"):
        set_threshold(file, "k2", 7)


def test_a_policy_that_several_models_share() -> None:
    text = WHOLE.decode()
    other = text[text.index("  - name") :].replace("k2", "other").replace("{threshold: 5}", "*shared")
    with pytest.raises(CantWriteError, match="alias"):
        patched(text.replace("{threshold: 5}", "&shared {threshold: 5}") + other, "k2", 7)
