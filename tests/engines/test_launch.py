"""`spillway-engine run` and `check` as processes, on nodes that are pretended: what it becomes, and what it refuses."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spillway_engine.launch import REFUSED
from tests.engines.node import MODELS, Node

H200 = "9.0, 580.159.04, NVIDIA H200"
LLAMA = (
    f"--model-path={MODELS / 'llama-3.1-8b-instruct'}",
    f"--draft-model-path={MODELS / 'llama-3.1-8b-eagle3'}",
    "--allow=shared-memory",
)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """With one H200."""
    made = Node(tmp_path)
    made.gpus(H200)
    return made


def spillway_engine(node: Node, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    command = [sys.executable, "-m", "spillway_engine", *arguments]
    return subprocess.run(command, env={**node.env, **env}, capture_output=True, text=True, timeout=30)


def test_it_becomes_the_engine_and_the_signal_reaches_it(node: Node) -> None:
    command = [sys.executable, "-m", "spillway_engine", "run", "llama-3.1-8b/eagle3-chain", *LLAMA, "--env=A=b c"]
    env = {**node.env, "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "1"}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        started: dict[str, Any] = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 7
        assert process.stderr is not None
        said = process.stderr.read()
    assert started["pid"] == process.pid
    assert started["arguments"][:2] == ["-m", "sglang.launch_server"]
    assert "--speculative-num-draft-tokens=4" in started["arguments"]
    assert started["env"]["A"] == "b c"
    # What the container's environment says itself goes before the profile.
    assert started["env"]["SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION"] == "1"
    assert "--speculative-num-draft-tokens=4" in said


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ((), "refuse: node: nvidia-smi: does not list GPUs"),
        (("8.0, 580.1, NVIDIA A100",), "refuse: gpu-architecture: NVIDIA A100 has compute capability 8.0"),
        (("9.0, 550.54.15, NVIDIA H200",), "refuse: driver: driver 550.54.15 is older than 580"),
    ],
)
def test_it_refuses_a_node_that_the_profile_is_not_for(node: Node, rows: tuple[str, ...], complaint: str) -> None:
    node.gpus(*rows)
    done = spillway_engine(node, "run", "llama-3.1-8b/baseline", *LLAMA)
    assert done.returncode == REFUSED
    assert complaint in done.stderr
    assert done.stdout == ""


def test_it_says_why_nvidia_smi_fails(node: Node) -> None:
    node.gpus("NVIDIA-SMI has failed", status=9)
    done = spillway_engine(node, "check", "llama-3.1-8b/baseline", *LLAMA)
    assert done.returncode == REFUSED
    assert "refuse: node: nvidia-smi: exit status 9: NVIDIA-SMI has failed" in done.stderr
    (node.bin / "nvidia-smi").unlink()
    done = spillway_engine(node, "check", "llama-3.1-8b/baseline", *LLAMA, PATH=str(node.bin))
    assert "nvidia-smi: not found: is this a node with GPUs, and may the container see them?" in done.stderr


def test_only_visible_gpus_count(node: Node) -> None:
    node.gpus(H200, H200)
    arguments = ("check", "llama-3.1-8b/baseline", *LLAMA, "--gpus=2")
    assert spillway_engine(node, *arguments).returncode == 0
    done = spillway_engine(node, *arguments, CUDA_VISIBLE_DEVICES="1")
    assert "refuse: gpu-count: tensor parallelism over 2 GPUs, and 1 are here" in done.stdout
    assert done.returncode == REFUSED


def test_a_finding_can_be_allowed(node: Node) -> None:
    arguments = ("check", "llama-3.1-8b/eagle3-adaptive", *LLAMA, "--set-speculative=speculative-eagle-topk=4")
    assert spillway_engine(node, *arguments).returncode == REFUSED
    done = spillway_engine(node, *arguments, "--allow=adaptive-off")
    assert done.returncode == 0
    assert (
        "warn: adaptive-off: with topk 4 SGLang switches speculative-adaptive off: take topk 1 (allowed)" in done.stdout
    )
    assert done.stdout.endswith("llama-3.1-8b/eagle3-adaptive on sm90: can be started\n")


def test_the_command_line_follows_the_gpus_that_are_there(node: Node) -> None:
    node.gpus(*["12.0, 580.95.05, NVIDIA RTX PRO 6000 Blackwell Server Edition"] * 8)
    kimi = (f"--model-path={MODELS / 'kimi-k2.5-int4'}", f"--draft-model-path={MODELS / 'kimi-k2.5-eagle3'}")
    command = [sys.executable, "-m", "spillway_engine", "run", "kimi-k2.5/eagle3-tree", *kimi, "--allow=shared-memory"]
    with subprocess.Popen(
        command, env=node.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        arguments = json.loads(process.stdout.readline())["arguments"]
        process.terminate()
    assert "--disable-custom-all-reduce" in arguments
    assert not any("allreduce-fusion" in it or "symm-mem" in it for it in arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("render", "kimi-k2.5/none"), "there is no profile 'kimi-k2.5/none'"),
        (("render", "kimi-k2.5/baseline", "--set=nonsense=1"), "has no option --nonsense"),
        (("run", "kimi-k2.5/eagle3-adaptive", "--sglang=0.5.9"), "has no --speculative-adaptive"),
        (("render", "kimi-k2.5/baseline", "--env=SGLANG_NONSENSE=1"), "does not read SGLANG_NONSENSE"),
        (("render", "kimi-k2.5/baseline", "--set==1"), "is no NAME=VALUE"),
    ],
)
def test_mistakes_end_it_with_2(node: Node, arguments: tuple[str, ...], complaint: str) -> None:
    done = spillway_engine(node, *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_baseline_ignores_what_is_for_speculation(node: Node) -> None:
    arguments = ("--draft-model-path=/d", "--set-speculative=speculative-num-steps=1")
    done = spillway_engine(node, "render", "llama-3.1-8b/baseline", *arguments)
    assert done.returncode == 0
    assert "speculative" not in done.stdout


def test_rendering_warns_too(node: Node) -> None:
    done = spillway_engine(
        node, "render", "kimi-k2.5/baseline", "--hardware=sm120", "--set=enable-torch-symm-mem", "--json"
    )
    assert "warn: symmetric-memory-inert: enable-torch-symm-mem has no effect on sm120" in done.stderr
    assert "--enable-torch-symm-mem" in json.loads(done.stdout)["command"]


def test_profiles_of_ones_own(node: Node, tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "m"
    folder.mkdir(parents=True)
    (folder / "base.yaml").write_text(
        "{model: m, model_path: /m, attention: mha, hardware: {architectures: [sm90], gpus: 1}, flags: {}}"
    )
    (folder / "plain.yaml").write_text("{extends: base, role: baseline}")
    done = spillway_engine(node, "profiles", "--profiles", str(tmp_path / "mine"))
    assert done.stdout == "m/plain\n"
    done = spillway_engine(node, "render", "m/plain", "--profiles", str(tmp_path / "mine"))
    assert "--served-model-name=m" in done.stdout


def test_the_gateways_command_line_has_it_too(node: Node) -> None:
    command = [sys.executable, "-m", "gateway.cli", "engine", "render", "llama-3.1-8b/baseline"]
    done = subprocess.run(command, env=node.env, capture_output=True, text=True, timeout=30)
    assert done.stdout == spillway_engine(node, "render", "llama-3.1-8b/baseline").stdout
