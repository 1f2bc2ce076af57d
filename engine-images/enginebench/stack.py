"""The engines and the gateway in front of them."""

import subprocess
import sys
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

import yaml

from enginebench import processes
from enginebench.processes import Server

NAME = "llama-3.1-8b"
VERSION = "0.5.17"
GATEWAY = 31080
NOT_READY = 3
# What the drafts' acceptance is simulated as: tokens a pass, as EAGLE-3 has on code.
_ACCEPTED = "2.2"


@dataclass(frozen=True, slots=True)
class Set:
    """What one sweep compares: a speculative engine, and the threshold that goes with it."""

    engine: str
    threshold: int


# The thresholds are those that `spillway calibrate` recommends for these engines.
SETS = {"tree": Set("eagle3-tree", 13), "adaptive": Set("eagle3-adaptive", 31)}
# What the gateway decides by: the policy `threshold` in its two modes, and `adaptive` by two of its objectives.
POLICIES = ("spill", "switch", "balanced", "throughput")
_PORTS = {"baseline": 31000, "eagle3-tree": 31001, "eagle3-adaptive": 31002}


def start(state: Path, gpus: int, attention: str, seconds: float, local: Path | None) -> int:
    """Start everything, and the gateway over the engines that are ready in time. Without two, stop them again."""
    state.mkdir(parents=True, exist_ok=True)
    if local is None:
        from enginebench import model

        model.make(state / "models")
    engines = [_local(state, name, local) if local else _sglang(state, name, gpus, attention) for name in _PORTS]
    ready = {it.name for it in processes.wait(engines, seconds)}
    if "baseline" not in ready or len(ready) == 1:
        processes.end(state)
        return NOT_READY
    config = state / "spillway.yaml"
    config.write_text(yaml.safe_dump(configuration("llamacpp" if local else "sglang", ready, shared=gpus == 1)))
    command = [sys.executable, "-m", "gateway.cli", "serve", "--config", str(config)]
    gateway = processes.launch(state, "gateway", command, {}, f"http://127.0.0.1:{GATEWAY}", "/ready")
    return 0 if processes.wait([gateway], 60) else 1


def verify(state: Path, gpus: int, attention: str, seconds: float) -> int:
    """Compare the tree's greedy answers with the baseline's, its drafts accepted as they deserve."""
    engine = _sglang(state, "eagle3-tree", gpus, attention, "verified", 31003)
    if not processes.wait([engine], seconds):
        return NOT_READY
    urls = (f"--url={engine.url}", f"--url=http://127.0.0.1:{_PORTS['baseline']}")
    command = [sys.executable, "-m", "spillway_engine", "verify", *urls, "--max-tokens=64"]
    return subprocess.run(command).returncode


def stop(state: Path) -> int:
    """Stop everything."""
    processes.end(state)
    return 0


def configuration(kind: str, ready: Container[str], *, shared: bool) -> dict[str, object]:
    """The gateway's file: for each set a model for each of `POLICIES`, over the same engines; `shared`: on one GPU."""
    models = [
        _model(f"{name}-{which}", _policy(which, it.threshold, shared=shared), it.engine, kind)
        for name, it in SETS.items()
        if it.engine in ready
        for which in POLICIES
    ]
    return {
        "listen": {"host": "127.0.0.1", "port": GATEWAY},
        "models": models,
        "log": {"access": False},
        "drain": {"delay_seconds": 0, "timeout_seconds": 5},
    }


def _policy(which: str, threshold: int, *, shared: bool) -> dict[str, object]:
    if which == "spill":
        # Its pinned requests are the arms of one pool alone.
        return {"kind": "threshold", "mode": which, "threshold": threshold, "allow_pinning": True}
    if which == "switch":
        return {"kind": "threshold", "mode": which, "threshold": threshold, "min_dwell": 0.5}
    return {"kind": "adaptive", "objective": which, "shared_hardware": shared}


def _model(name: str, policy: dict[str, object], engine: str, kind: str) -> dict[str, object]:
    def pool(which: str) -> dict[str, object]:
        url = f"http://127.0.0.1:{_PORTS[which]}"
        return {"engine": kind, "engine_model": NAME, "max_inflight": 128, "discovery": {"static": [url]}}

    return {"name": name, "policy": policy, "pools": {"speculative": pool(engine), "baseline": pool("baseline")}}


def _sglang(state: Path, name: str, gpus: int, attention: str, called: str = "", port: int = 0) -> Server:
    """An engine from its profile, with acceptance simulated unless it has a name of its own."""
    port = port or _PORTS[name]
    # Both speculative engines that are measured are on one GPU: only one of them ever has requests.
    device = "0" if gpus == 1 or (name != "baseline" and not called) else "1"
    options = {
        "attention-backend": attention,
        "load-format": "dummy",
        # What is compiled at the first use, and is beside the point here.
        "sampling-backend": "pytorch",
        "grammar-backend": "none",
        # Prompts differ from request to request.
        "disable-radix-cache": "true",
        # Room for 128 requests of some 1,000 tokens, or 500; the rest of the GPU is left to the other engines on it.
        "max-total-tokens": "160000" if gpus > 1 else "64000",
        "mem-fraction-static": "0.8",
        "context-length": "4096",
        # An event for each token of 128 requests would measure Python, in the engine's one process for HTTP.
        "stream-interval": "4",
        "watchdog-timeout": "1200",
    }
    paths = {"model": state / "models" / "llama-3.1-8b-instruct", "drafter": state / "models" / "llama-3.1-8b-eagle3"}
    command = [sys.executable, "-m", "spillway_engine", "run", f"{NAME}/{name}", f"--sglang={VERSION}"]
    command += [f"--model-path={paths['model']}", f"--draft-model-path={paths['drafter']}", f"--port={port}"]
    command += ["--host=127.0.0.1", "--allow=shared-memory", "--unset=tool-call-parser"]
    command += [f"--set={option}={value}" for option, value in options.items()]
    env = {"CUDA_VISIBLE_DEVICES": device}
    if name != "baseline" and not called:
        env |= {"SGLANG_SIMULATE_ACC_LEN": _ACCEPTED, "SGLANG_SIMULATE_ACC_METHOD": "match-expected"}
    return processes.launch(state, called or name, command, env, f"http://127.0.0.1:{port}", "/health")


def _local(state: Path, name: str, gguf: Path) -> Server:
    port = _PORTS[name]
    command = [sys.executable, "-m", "gateway.demo.engine", "--model", str(gguf), "--alias", NAME, "--port", str(port)]
    command += [] if name == "baseline" else ["--draft", "16"]
    return processes.launch(state, name, command, {}, f"http://127.0.0.1:{port}", "/health")
