"""What a sweep does, as numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loadtest.prompts import DEFAULT_MIX, Mix
from loadtest.sweep.arms import Arm

MAX_LEVEL = 100_000


class BadPlanError(ValueError):
    """A plan that can't be carried out; the message says why."""


@dataclass(frozen=True)
class Plan:
    """`requests` are sent at each level, and at least `per_client` by each client; times are in seconds.

    `unique` begins each prompt with a number of its own, so that no engine's prefix cache can answer for another arm.
    Before the first cell of an arm come `warmup` requests; with `warm_levels`, before its first cell at each level, as
    many requests as it has clients, of `warm_tokens` tokens: engines compile or capture something at the first use of a
    batch size. `settle` passes idle between cells, so that a policy with a memory begins each anew.
    """

    arms: Sequence[Arm]
    levels: Sequence[int]
    repeats: int = 3
    requests: int = 30
    per_client: int = 2
    max_tokens: int = 512
    warmup: int = 5
    warm_levels: bool = True
    warm_tokens: int = 16
    mix: Mix = DEFAULT_MIX
    unique: bool = True
    seed: str = "1"
    settle: float = 3.0
    body: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [arm.name for arm in self.arms]
        if not names or len(set(names)) < len(names):
            raise BadPlanError("there must be at least one arm, and no two of one name")
        if not self.levels or min(self.levels) < 1 or max(self.levels) > MAX_LEVEL:
            raise BadPlanError(f"levels must be from 1 to {MAX_LEVEL}")
        if min(self.repeats, self.requests, self.per_client, self.max_tokens) < 1 or self.warmup < 1:
            raise BadPlanError("repeats, requests, requests per client, max tokens and warm-up must be 1 or more")

    def count(self, level: int) -> int:
        """Requests of one cell."""
        return max(self.requests, self.per_client * level)

    def cells(self) -> Iterator[tuple[int, int, Arm]]:
        """Every cell as (repeat, level, arm): arms take turns at each level, and not always in the same order."""
        for repeat in range(self.repeats):
            for place, level in enumerate(self.levels):
                first = (repeat + place) % len(self.arms)
                for arm in (*self.arms[first:], *self.arms[:first]):
                    yield repeat, level, arm

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.repeats * len(self.levels) * len(self.arms)


def parse_levels(text: str) -> tuple[int, ...]:
    """`1,2,5`: rising, each once. Raises BadPlanError."""
    try:
        found = {int(part) for part in text.split(",")}
    except ValueError as error:
        raise BadPlanError(f"{text!r} is not a list of levels: it must be like 1,2,5,10") from error
    return tuple(sorted(found))


def neighbourhood(limit: int) -> tuple[int, ...]:
    """The levels at which a threshold goes wrong if it does: just below its limit, at it, just above it, and twice."""
    return tuple(sorted({max(1, limit - 1), limit, limit + 1, 2 * limit}))
