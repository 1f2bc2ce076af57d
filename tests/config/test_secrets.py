"""Keys: where they come from, and that they are shown nowhere."""

from pathlib import Path

import pytest

from gateway.config import Loaded, effective_yaml, load_config
from tests.config.support import MODELS, problems, write

SECRET = "sk-5ecret"
KEYED = """\
models:
  - name: m
    pools:
      baseline:
        discovery: {static: ["http://a:1"]}
        api_key: ${ENGINE_KEY}
auth:
  keys: [plain, "${CLIENT_KEY}"]
"""


def api_key(loaded: Loaded) -> str | None:
    pool = loaded.config.models[0].pools.baseline
    return pool.api_key if pool else None


def test_keys_come_from_the_environment(tmp_path: Path) -> None:
    loaded = load_config(write(tmp_path, KEYED), {"ENGINE_KEY": "e", "CLIENT_KEY": "c\n"})
    assert (api_key(loaded), loaded.config.auth.keys) == ("e", ("plain", "c"))
    assert loaded.client_keys == ("plain", "c")


def test_a_key_that_is_not_set_is_refused(tmp_path: Path) -> None:
    found = problems(write(tmp_path, KEYED), {"CLIENT_KEY": " "})
    assert [(problem.line, problem.field, problem.reason) for problem in found] == [
        (
            6,
            "models[0].pools.baseline.api_key",
            "the environment variable ENGINE_KEY is not set or is empty: set it",
        ),
        (8, "auth.keys[1]", "the environment variable CLIENT_KEY is not set or is empty: set it"),
    ]


@pytest.mark.parametrize("text", ["Bearer ${ENGINE_KEY}", "${ENGINE_KEY", "${A}${B}", "${9}"])
def test_a_reference_stands_alone(text: str, tmp_path: Path) -> None:
    (problem,) = problems(write(tmp_path, MODELS + f'auth: {{keys: ["{text}"]}}\n'), {"ENGINE_KEY": "x"})
    assert (problem.field, problem.line) == ("auth.keys[0]", 5)
    assert problem.reason == "must be the key itself or ${NAME} alone, without text around it"


def test_a_reference_elsewhere_is_plain_text(tmp_path: Path) -> None:
    loaded = load_config(write(tmp_path, MODELS.replace("name: m", "name: ${NAME}")), {"NAME": "x"})
    assert loaded.config.models[0].name == "${NAME}"


def test_a_value_from_the_environment_is_not_expanded_again(tmp_path: Path) -> None:
    (problem,) = problems(write(tmp_path, KEYED), {"ENGINE_KEY": "a b", "CLIENT_KEY": "c"})
    assert problem.field == "models[0].pools.baseline.api_key"
    loaded = load_config(write(tmp_path, KEYED), {"ENGINE_KEY": "${CLIENT_KEY}", "CLIENT_KEY": "c"})
    assert api_key(loaded) == "${CLIENT_KEY}"


def test_an_override_may_refer_too(tmp_path: Path) -> None:
    env = {"SPILLWAY_AUTH__KEYS": "['${K}']", "K": "123", "ENGINE_KEY": "e"}
    assert load_config(write(tmp_path, KEYED), env).client_keys == ("123",)


@pytest.mark.parametrize(
    "lines",
    [
        f"auth: {{keys: {SECRET}}}",
        f"auth: {{keys: ['{SECRET} x']}}",
        f"auth: {{keys: [{{{SECRET}: 1}}]}}",
        f"auth: {SECRET}",
        "auth: {keys: ['${K} ']}",
        "auth: {keys: ['${BAD}']}",
        f"auth: {{kyes: [{SECRET}]}}",
    ],
)
def test_a_key_is_not_shown_in_a_problem(lines: str, tmp_path: Path) -> None:
    found = problems(write(tmp_path, MODELS + lines + "\n"), {"K": SECRET, "BAD": f"{SECRET} x"})
    assert not [problem for problem in found if SECRET in str(problem)]


@pytest.mark.parametrize("value", [f"[{SECRET}, ", SECRET, f"[{SECRET} x]", f"{{a: {SECRET}, a: 1}}"])
def test_a_key_in_a_variable_is_not_shown_in_a_problem(value: str, tmp_path: Path) -> None:
    found = problems(write(tmp_path, MODELS), {"SPILLWAY_AUTH__KEYS": value})
    assert not [problem for problem in found if SECRET in str(problem)]


def test_keys_are_masked_where_a_configuration_is_shown(tmp_path: Path) -> None:
    loaded = load_config(write(tmp_path, KEYED), {"ENGINE_KEY": SECRET, "CLIENT_KEY": SECRET})
    text = effective_yaml(loaded.config)
    assert text.count("'***'") == 3
    assert "plain" not in text
    for shown in (text, repr(loaded), repr(loaded.config), str(loaded.config.models[0])):
        assert SECRET not in shown


def test_keys_file(tmp_path: Path) -> None:
    write(tmp_path, "# ours\none\n\n  two  \r\nplain\n", "keys")
    path = write(tmp_path, MODELS + "auth: {keys: [plain], keys_file: keys}\n")
    loaded = load_config(path, {})
    assert loaded.client_keys == ("plain", "one", "two")
    assert loaded.config.auth.keys_file == tmp_path / "keys"
    assert [source.path.name for source in loaded.sources] == ["spillway.yaml", "keys"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"# none\n\n", "holds no key: put one on a line, or remove keys_file"),
        (b"one\ntwo words\n", "has a key on line 2 that is not printable ASCII without spaces"),
        ("schlüssel\n".encode(), "has a key on line 1 that is not printable ASCII without spaces"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_useless_keys_file(content: bytes, reason: str, tmp_path: Path) -> None:
    write(tmp_path, content, "keys")
    (problem,) = problems(write(tmp_path, MODELS + "auth:\n  keys_file: keys\n"))
    assert (problem.field, problem.line) == ("auth.keys_file", 6)
    assert problem.reason == f"'{tmp_path / 'keys'}' {reason}"
