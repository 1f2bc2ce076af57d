"""Which prompts a run draws, and how often."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadtest.prompts.library import KINDS, BadMixError, Prompt, library


@dataclass(frozen=True)
class Mix:
    """Kinds with their weights. Within a kind every prompt comes once, in random order, before any comes again."""

    weights: Mapping[str, float]

    def draw(self, seed: str) -> Iterator[Prompt]:
        """Prompts without end; the same seed draws the same ones."""
        rng = random.Random(seed)
        kinds, weights = list(self.weights), list(self.weights.values())
        decks: dict[str, list[Prompt]] = {kind: [] for kind in kinds}
        while True:
            [kind] = rng.choices(kinds, weights)
            if not decks[kind]:
                decks[kind] = rng.sample(library(kind), len(library(kind)))
            yield decks[kind].pop()

    def __str__(self) -> str:
        return ",".join(f"{kind}={weight:g}" for kind, weight in self.weights.items())


DEFAULT_MIX = Mix({"edit": 0.3, "regular": 0.2, "code": 0.2, "agent": 0.2, "prose": 0.1})


def parse_mix(text: str) -> Mix:
    """`edit` or `edit=0.6,prose=0.4`; weights need not sum to one. Raises BadMixError."""
    weights: dict[str, float] = {}
    for part in text.split(","):
        kind, _, weight = part.strip().partition("=")
        if kind not in KINDS:
            raise BadMixError(f"there is no kind of prompts {kind!r}: it must be one of {', '.join(KINDS)}")
        try:
            weights[kind] = float(weight or 1)
        except ValueError as error:
            raise BadMixError(f"{part.strip()!r}: the weight must be a number") from error
        if not 0 < weights[kind] < float("inf"):
            raise BadMixError(f"{part.strip()!r}: the weight must be above 0")
    return Mix(weights)
