"""`check-config`, run as the command line runs it."""

import io
from pathlib import Path

import yaml

from gateway.config import check
from tests.config.support import MODELS, write


def test_a_good_file_is_printed_in_full(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    code = check.run(write(tmp_path, MODELS), {"SPILLWAY_LISTEN__PORT": "9000"}, out, err)
    assert (code, err.getvalue()) == (0, "")
    assert yaml.safe_load(out.getvalue())["listen"]["port"] == 9000


def test_each_problem_of_a_bad_file_is_one_line(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    path = write(tmp_path, MODELS + 'log: {level: "a\\nb", "x\\ny": 1}\n')
    code = check.run(path, {"SPILLWAY_LISTEN__PORT": r'"a\nb"'}, out, err)
    assert (code, out.getvalue()) == (2, "")
    assert err.getvalue().splitlines() == [
        rf"{path}:5: log.level: must be one of debug, info, warning, error, not 'a\nb'",
        rf"{path}:5: log['x\ny']: unknown field; valid here: level, access",
        r"environment variable SPILLWAY_LISTEN__PORT: listen.port: must be a whole number, not 'a\nb'",
    ]


def test_a_file_with_an_odd_name_is_named_in_one_line(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    assert check.run(write(tmp_path, "", "a\nb\u2028.yaml"), {}, out, err) == 2
    assert err.getvalue() == rf"{tmp_path}/a\nb\u2028.yaml: is empty: list at least one model under 'models:'" + "\n"


def test_what_is_allowed_and_seldom_meant_is_said(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    pools = {role: {"discovery": {"static": ["http://a:1"]}} for role in ("speculative", "baseline")}
    code = check.run(write(tmp_path, yaml.safe_dump({"models": [{"name": "m", "pools": pools}]})), {}, out, err)
    assert code == 0
    assert (
        err.getvalue()
        == "warning: models[0].pools: http://a:1 stands in both pools, so this one engine is counted as two\n"
    )
