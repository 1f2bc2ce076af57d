"""Every way for a file to be wrong: where it is said to be, and what to do about it."""

from pathlib import Path

import pytest

from tests.config.one_problem import ONE_PROBLEM, POOLS, STATIC, model
from tests.config.support import problems, write


@pytest.mark.parametrize("name", ONE_PROBLEM)
def test_one_problem(name: str, tmp_path: Path) -> None:
    text, field, line, reason = ONE_PROBLEM[name]
    path = write(tmp_path, text)
    found = problems(path)
    assert [(problem.field, problem.line, problem.file) for problem in found] == [(field, line, path)]
    assert reason in found[0].reason
    assert str(found[0]) == f"{path}:{line}: {field}: {found[0].reason}"


JARGON = ("Input", "tag", "instance", "dictionary", "tuple", "extra_", "model_", "pydantic", "validation")


@pytest.mark.parametrize("name", [name for name in ONE_PROBLEM if "tag" not in name and "object" not in name])
def test_no_jargon(name: str, tmp_path: Path) -> None:
    (problem,) = problems(write(tmp_path, ONE_PROBLEM[name][0]))
    assert not [word for word in JARGON if word in problem.reason]


# The file, then the line and column of its only problem, and the reason.
NO_DATA: dict[str, tuple[str | bytes, int | None, int | None, str]] = {
    "nothing": ("", None, None, "is empty: list at least one model under 'models:'"),
    "only comments": ("# models:\n", None, None, "is empty"),
    "a list": ("\n- models\n", 2, None, "must be a mapping of fields, such as 'models:', not a list"),
    "a word": ("models\n", 1, None, "must be a mapping of fields, such as 'models:', not a single value"),
    "a null": ("null\n", 1, None, "must be a mapping of fields"),
    "a tab": ("models:\n\t- name: m\n", 2, 1, "indent with spaces"),
    "an open bracket": ("models: [\n", 2, 1, "not valid YAML: while parsing a flow"),
    "an open quote": ("models: 'x\n", 2, 1, "found unexpected end of stream"),
    "bad indentation": ("models:\n  - name: m\n   pools: {}\n", 3, 4, "not valid YAML"),
    "two colons": ("listen: port: 80\n", 1, 13, "mapping values are not allowed here"),
    "an unknown alias": ("models: *shared\n", 1, 9, "found undefined alias 'shared'"),
    "two documents": ("models: []\n---\nmodels: []\n", 2, 1, "remove the '---' line"),
    "a control character": ("models: []\nlog: \x07\n", 2, 6, "the character U+0007 is not allowed"),
    "endless nesting": ("[" * 20_000, None, None, "nested too deeply"),
    "Latin-1": ("models: []\n# f\xfcr\n".encode("latin-1"), 2, None, "is not UTF-8 text (byte 0xfc)"),
    "UTF-16": ("models: []\n".encode("utf-16"), 1, None, "save it as UTF-8"),
}


@pytest.mark.parametrize("name", NO_DATA)
def test_no_data(name: str, tmp_path: Path) -> None:
    text, line, column, reason = NO_DATA[name]
    path = write(tmp_path, text)
    (problem,) = problems(path)
    assert (problem.file, problem.line, problem.column, problem.field) == (path, line, column, "")
    assert reason in problem.reason


def test_missing_file(tmp_path: Path) -> None:
    assert [str(problem) for problem in problems(tmp_path / "no.yaml")] == [f"{tmp_path}/no.yaml: does not exist"]


def test_folder_instead_of_a_file(tmp_path: Path) -> None:
    assert [problem.reason for problem in problems(tmp_path)] == ["is a folder; name a file in it"]


def test_file_too_large_to_be_a_configuration(tmp_path: Path) -> None:
    (problem,) = problems(write(tmp_path, b"#" * (16 * 1024 * 1024 + 1)))
    assert problem.reason == "is larger than 16777216 bytes"


def test_all_problems_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
listn: {}
listen: {port: 99999, tls_cert: gone.pem}
models:
  - name: a
    policy: {threshold: 300}
    pools:
      speculative: {discovery: {static: ["http://a:1", nowhere]}, engine: sglag}
  - name: a
    policy: {kind: pined}
    pools: {}
log: {level: loud}
log: {}
"""
    found = [(problem.line, problem.field) for problem in problems(write(tmp_path, text))]
    assert found == [
        (1, "listn"),
        (2, "listen.tls_cert"),
        (2, "listen.port"),
        (2, "listen.tls_key"),
        (5, "models[0].policy.threshold"),
        (7, "models[0].pools.speculative.engine"),
        (7, "models[0].pools.speculative.discovery.static[1]"),
        (8, "models[1].name"),
        (9, "models[1].policy.kind"),
        (10, "models[1].pools"),
        (11, "log.level"),
        (12, "log"),
    ]


def test_a_misspelt_field_contradicts_nothing(tmp_path: Path) -> None:
    text = model(f"policy: {{threshold: 200}}\n    pools: {{speculative: {{max_inflihgt: 256, {STATIC}}}}}")
    assert [problem.field for problem in problems(write(tmp_path, text))] == [
        "models[0].pools.speculative.max_inflihgt"
    ]


# A file with a misspelt section, then the field and the reason of each problem.
MISSPELT = {
    "a section": (
        model(f"polcy: {{treshold: 4, queue: {{size: -1}}}}\n    {POOLS}"),
        [
            ("models[0].polcy", "unknown field; did you mean 'policy'?"),
            ("models[0].polcy.treshold", "unknown field; did you mean 'threshold'?"),
            ("models[0].polcy.queue.size", "must be at least 0, not -1"),
        ],
    ),
    "a section within another": (
        model(f"polcy: {{queu: {{sise: 1}}}}\n    {POOLS}"),
        [
            ("models[0].polcy", "unknown field; did you mean 'policy'?"),
            ("models[0].polcy.queu", "unknown field; did you mean 'queue'?"),
            ("models[0].polcy.queu.sise", "unknown field; did you mean 'size'?"),
        ],
    ),
    "a list": (
        "modles:\n  - {nam: m}\n",
        [
            ("models", "is required: what clients may ask for"),
            ("modles", "unknown field; did you mean 'models'?"),
            ("modles[0].name", "is required: the name clients put in `model`"),
            ("modles[0].pools", "is required: the engines that serve it"),
            ("modles[0].nam", "unknown field; did you mean 'name'?"),
        ],
    ),
    "one that is right within": (
        model(f"polcy: {{threshold: 4}}\n    {POOLS}"),
        [("models[0].polcy", "unknown field; did you mean 'policy'?")],
    ),
    "beside the right one": (
        model(f"policy: {{threshold: 4}}\n    polcy: {{treshold: 4}}\n    {POOLS}"),
        [("models[0].polcy", "unknown field; did you mean 'policy'?")],
    ),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_what_is_wrong_within_a_misspelt_section_is_said_at_once(name: str, tmp_path: Path) -> None:
    text, expected = MISSPELT[name]
    found = problems(write(tmp_path, text))
    assert sorted((problem.field, problem.reason) for problem in found) == sorted(expected)
    assert all(problem.line is not None for problem in found)


def test_a_single_value_with_a_misspelt_name_is_not_repeated(tmp_path: Path) -> None:
    """Whatever the name was meant to be: the value may be a secret."""
    found = problems(write(tmp_path, model(f"aliaes: hunter 2\n    {POOLS}")))
    assert ["hunter" in str(problem) for problem in found] == [False]


def test_merged_fields_are_reported_where_they_are_written(tmp_path: Path) -> None:
    text = """\
models:
  - name: m
    pools:
      speculative: &pool
        discovery: {static: ["http://a:1"]}
        max_inflight: none
      baseline:
        <<: *pool
        discovery: {static: ["http://b:1"]}
"""
    assert [(problem.line, problem.field) for problem in problems(write(tmp_path, text))] == [
        (6, "models[0].pools.speculative.max_inflight"),
        (6, "models[0].pools.baseline.max_inflight"),
    ]
