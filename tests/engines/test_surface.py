"""Every option that profiles and overrides use is one that the version has, by its exact name."""

import pytest

from spillway_engine import (
    VERSIONS,
    Architecture,
    Overrides,
    ProfileError,
    SurfaceError,
    load_profile,
    load_surface,
    render,
)
from spillway_engine.overrides import parse_flag, parse_variable
from spillway_engine.surface import PINNED

PROFILE = load_profile("kimi-k2.5/eagle3-tree")


def flags(version: str, architecture: Architecture) -> list[str]:
    """The flags of a rendered profile, without the command."""
    return list(render(PROFILE, version=version, architecture=architecture).command[3:])


def test_the_older_line_calls_things_otherwise() -> None:
    new, old = (flags(version, Architecture.SM90) for version in (PINNED, "0.5.9"))
    changed = {
        "--cuda-graph-max-bs-decode=128": "--cuda-graph-max-bs=128",
        "--flashinfer-allreduce-fusion-backend=auto": "--enable-flashinfer-allreduce-fusion",
    }
    assert [changed.get(flag, flag) for flag in new] == old
    assert flags("0.5.17", Architecture.SM90) == new


@pytest.mark.parametrize(
    ("version", "name", "value", "complaint"),
    [
        (PINNED, "speculative-disable-batch-threshold", "5", "has no option --speculative-disable-batch-threshold"),
        (PINNED, "cuda-graph-max-bs", "128", "did you mean --cuda-graph-max-bs-decode or --cuda-graph-max-bs-prefill"),
        (PINNED, "enable-flashinfer-allreduce-fusion", True, "is deprecated"),
        (PINNED, "attention-backend", "flash", "--attention-backend cannot be 'flash': choose one of"),
        (PINNED, "max-running-requests", "many", "takes a whole number, not 'many'"),
        (PINNED, "mem-fraction-static", "most", "takes a number, not 'most'"),
        (PINNED, "trust-remote-code", "yes", "takes no value"),
        (PINNED, "max-running-requests", True, "needs a value"),
        ("0.5.17", "cuda-graph-max-bs", "128", "deprecated: use --cuda-graph-max-bs-decode"),
        ("0.5.9", "flashinfer-allreduce-fusion-backend", "trtllm", "no equivalent of --flashinfer-allreduce-fusion"),
        ("0.5.9", "cuda-graph-max-bs-prefill", "128", "has no option"),
    ],
)
def test_what_a_version_does_not_know_is_refused(version: str, name: str, value: str | bool, complaint: str) -> None:
    with pytest.raises(SurfaceError, match=complaint):
        render(PROFILE, version=version, overrides=Overrides(flags={name: value}))


def test_overrides_are_taken_over() -> None:
    overrides = Overrides(
        model_path="/m",
        draft_model_path="/d",
        served_model_name="k2",
        host="::",
        port=31000,
        gpus=4,
        max_running_requests=64,
        flags={"trust-remote-code": None, "mem-fraction-static": "0.8", "disable-radix-cache": True},
        env={"NCCL_DEBUG": "WARN"},
    )
    launch = render(PROFILE, architecture=Architecture.SM120, overrides=overrides)
    assert {
        "--model-path=/m",
        "--speculative-draft-model-path=/d",
        "--served-model-name=k2",
        "--host=::",
        "--port=31000",
        "--tp-size=4",
        "--max-running-requests=64",
        "--mem-fraction-static=0.8",
        "--disable-radix-cache",
    } <= set(launch.command)
    assert "--trust-remote-code" not in launch.command
    assert launch.env["NCCL_DEBUG"] == "WARN"
    names = [flag.partition("=")[0] for flag in launch.command[3:]]
    assert len(set(names)) == len(names)


def test_a_flag_that_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(ProfileError, match="has no flag disable-radix-cache to take out"):
        render(PROFILE, overrides=Overrides(flags={"disable-radix-cache": None}))


def test_a_variable_that_is_not_read_is_refused() -> None:
    env = {"SGLANG_ENABLE_PCIE_IPC_ALLREDUCE": "1"}
    assert render(PROFILE, overrides=Overrides(env=env)).env.items() >= env.items()
    with pytest.raises(SurfaceError, match=r"SGLang 0\.5\.17 does not read SGLANG_ENABLE_PCIE_IPC_ALLREDUCE"):
        render(PROFILE, version="0.5.17", overrides=Overrides(env=env))


def test_a_version_that_was_not_recorded_is_refused() -> None:
    with pytest.raises(SurfaceError, match=r"SGLang 0\.4\.1 is not known here: choose one of 0\.5\.23"):
        load_surface("0.4.1")


@pytest.mark.parametrize("version", VERSIONS)
def test_renamed_options_exist_where_they_lead_and_not_where_they_come_from(version: str) -> None:
    surface = load_surface(version)
    for name, rename in surface.renamed.items():
        assert name in load_surface(PINNED).options
        assert name not in surface.options
        assert rename.to in surface.options or (not rename.to and rename.reason)


def test_values_on_the_command_line_are_read() -> None:
    assert parse_flag("mem-fraction-static=0.8") == ("mem-fraction-static", "0.8")
    assert parse_flag("--trust-remote-code") == ("trust-remote-code", True)
    assert parse_flag("trust-remote-code=false") == ("trust-remote-code", False)
    assert parse_variable("A=b=c") == ("A", "b=c")
    for wrong in ("=1", ""):
        with pytest.raises(ProfileError, match="is no NAME=VALUE"):
            parse_flag(wrong)
    for wrong in ("A", "=b"):
        with pytest.raises(ProfileError, match="is no NAME=VALUE"):
            parse_variable(wrong)
