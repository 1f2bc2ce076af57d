"""Reads the shipped prompts, and builds long ones from them."""

import random
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

KINDS = ("edit", "regular", "code", "agent", "prose")
CHARACTERS_PER_TOKEN = 3.5  # of code, roughly, in today's vocabularies of 100,000 tokens and more


class BadMixError(ValueError):
    """A mix or kind that can't be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One task. `code` is the part of it that an edit is about; empty in the other kinds."""

    kind: str
    name: str
    text: str
    code: str = ""


@cache
def library(kind: str) -> tuple[Prompt, ...]:
    """Every shipped prompt of a kind. Raises BadMixError for a kind that does not exist."""
    if kind not in KINDS:
        raise BadMixError(f"there is no kind of prompts {kind!r}: it must be one of {', '.join(KINDS)}")
    entries = yaml.safe_load(files(__package__).joinpath("data", f"{kind}.yaml").read_text())
    return tuple(_prompt(kind, name, entry) for name, entry in entries.items())


def _prompt(kind: str, name: str, entry: str | dict[str, str]) -> Prompt:
    if isinstance(entry, str):
        return Prompt(kind, name, entry.strip())
    code = entry["code"].strip()
    return Prompt(kind, name, f"{entry['task'].strip()}\n\n```{entry['language']}\n{code}\n```", code)


def long_prompt(rng: random.Random, tokens: int) -> Prompt:
    """A task about one file among many, of roughly `tokens` tokens, its files drawn and ordered by `rng`."""
    parts: list[str] = []
    size = 0
    edits = (*library("edit"), *library("regular"))
    wanted = rng.choice(edits)
    while size < tokens * CHARACTERS_PER_TOKEN or not parts:
        edit = rng.choice(edits)
        parts.append(f"=== src/module_{len(parts):03d}_{edit.name}.txt ===\n{edit.code}\n")
        size += len(parts[-1])
    place = rng.randrange(len(parts))
    parts.insert(place, f"=== src/wanted_{wanted.name}.txt ===\n{wanted.code}\n")
    task = (
        f"These are the files of a project. Rewrite src/wanted_{wanted.name}.txt with one comment line at its top that "
        "says what it is for, change nothing else, and give the whole file.\n\n"
    )
    return Prompt("long", f"long-{wanted.name}", task + "\n".join(parts), wanted.code)
