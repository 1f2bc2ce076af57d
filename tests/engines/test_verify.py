"""The comparison of two engines: scripted ones that differ, and a real pair."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.demo.engines import MODEL_NAME, Drafting, LocalEngine
from gateway.demo.model import prepare_model
from spillway_engine.verify.comparison import first_difference
from spillway_engine.verify.prompts import PROMPTS, load
from tests.engines.scripted import Scripted, serving


def verify(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command."""
    command = [sys.executable, "-m", "spillway_engine", "verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=110)


def prompts(folder: Path, *texts: str) -> str:
    """A file of prompts."""
    path = folder / "prompts.jsonl"
    path.write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    return f"--prompts={path}"


def urls(*engines: Scripted) -> list[str]:
    """As options."""
    return [f"--url={engine.url}" for engine in engines]


@contextmanager
def pair(ours: Scripted, theirs: Scripted) -> Iterator[list[str]]:
    """Two engines that serve, as options."""
    with serving(ours), serving(theirs):
        yield urls(ours, theirs)


def test_first_difference() -> None:
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 4, 3]) == 1
    assert first_difference([1, 2], [1, 2, 3]) == 2
    assert first_difference([], []) is None


def test_engines_that_agree_are_lossless(tmp_path: Path) -> None:
    with pair(Scripted("sglang", accept_length=2.5), Scripted("sglang")) as engines:
        done = verify(*engines, prompts(tmp_path, "a", "b"))
    assert done.returncode == 0, done.stderr
    assert "2.50 accepted a pass" in done.stdout
    assert "2 of 2 answers are the same, token by token; 0 differ at a tie" in done.stdout
    assert done.stdout.endswith("\nlossless\n")


@pytest.mark.parametrize(("margin", "status"), [(2.0, 1), (0.01, 0)])
def test_a_difference_is_told_and_is_a_tie_or_not(tmp_path: Path, margin: float, status: int) -> None:
    with pair(Scripted("sglang", changed={5: 999}), Scripted("sglang", margin=margin)) as engines:
        done = verify(*engines, prompts(tmp_path, "a"), "--json")
        told = verify(*engines, prompts(tmp_path, "a"))
    assert (done.returncode, told.returncode) == (status, status)
    [divergence] = json.loads(done.stdout)["divergences"]
    assert (divergence["prompt"], divergence["place"], divergence["ours"], divergence["theirs"]) == (0, 5, 999, 105)
    assert divergence["margin"] == pytest.approx(margin)
    assert f"prompt 0: token 5 is 999 and 105, where the second's led by {margin:.3f} nats" in told.stdout
    assert ("NOT LOSSLESS: do not put this pool into service" in told.stdout) == bool(status)


def test_an_answer_that_ends_sooner_differs(tmp_path: Path) -> None:
    with pair(Scripted("sglang", length=4), Scripted("sglang")) as engines:
        done = verify(*engines, prompts(tmp_path, "a"))
    assert done.returncode == 1
    assert "token 4 is None and 104" in done.stdout


def test_other_engines_are_compared_by_their_text(tmp_path: Path) -> None:
    with pair(Scripted("openai"), Scripted("openai")) as engines:
        done = verify(*engines, prompts(tmp_path, "a"))
    assert "character by character" in done.stdout
    assert done.returncode == 0
    with pair(Scripted("openai", changed={0: 7}), Scripted("openai")) as engines:
        assert verify(*engines, prompts(tmp_path, "a")).returncode == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "complaint"),
    [
        (Scripted("sglang"), Scripted("openai"), "sglang and openai can't be compared"),
        (Scripted("sglang", status=500), Scripted("sglang"), "status 500"),
        (Scripted("nothing"), Scripted("sglang"), "lists no model: name one with --model"),
    ],
)
def test_engines_that_cannot_be_asked(tmp_path: Path, ours: Scripted, theirs: Scripted, complaint: str) -> None:
    with pair(ours, theirs) as engines:
        done = verify(*engines, prompts(tmp_path, "a"))
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_usage() -> None:
    assert "give --url twice" in verify("--url=http://127.0.0.1:1").stderr
    done = verify("--url=http://127.0.0.1:1", "--url=http://127.0.0.1:1")
    assert (done.returncode, done.stderr) == (2, "http://127.0.0.1:1: no engine answers: connection refused\n")


@pytest.mark.parametrize(("text", "complaint"), [("{", "is no JSON"), ("1", "is no string"), ("", "has no prompt")])
def test_a_file_of_prompts_with_mistakes(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        load(path)


def test_prompts_are_of_many_kinds() -> None:
    assert load(None) == PROMPTS
    assert len(PROMPTS) >= 10
    assert max(map(len, PROMPTS)) > 10 * min(map(len, PROMPTS))


def test_a_real_pair() -> None:
    model = prepare_model()
    common: dict[str, Any] = {"slots": 1, "context": 2048}
    with (
        LocalEngine(model, name="speculative", drafting=Drafting(), **common) as ours,
        LocalEngine(model, name="baseline", **common) as theirs,
    ):
        done = verify(
            f"--url={ours.url}", f"--url={theirs.url}/v1", "--max-tokens=24", f"--model={MODEL_NAME}", "--json"
        )
    result = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    assert result["lossless"]
    assert [engine["kind"] for engine in result["engines"]] == ["llama.cpp", "llama.cpp"]
    assert result["engines"][0]["accept_length"] >= 1
    assert result["engines"][1]["accept_length"] is None
    tokens, others = (engine["tokens"] for engine in result["engines"])
    assert tokens == others > 10 * len(PROMPTS)
