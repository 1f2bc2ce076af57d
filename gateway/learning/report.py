"""What one gateway tells others of the speeds that it has seen: sums, not requests, in a form that can be told apart.

Sums only grow and fade, and say how far they have faded. So the difference of two reports of one gateway is what it has
seen in between, no matter how often a report is read, or how many in between were missed.
"""

from math import exp2
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.routing import NODES, Role

VERSION: Literal[1] = 1

Sum = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Node = Annotated[int, Field(ge=0, lt=len(NODES))]
Row = tuple[Node, Sum, Sum, Sum, Sum]
"""As `Sketch.dump` has them: node, requests, tokens, seconds, seconds x in-flight."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Rows(_Part):
    """A sketch; `aged`: how many halvings what was in it at its beginning has been through."""

    aged: Sum = 0.0
    rows: tuple[Row, ...] = ()

    def since(self, before: "Rows") -> list[Row]:
        """What came in after `before`, an earlier report of the same sketch."""
        left = _left(self.aged, before.aged)
        old = {row[0]: row for row in before.rows}
        came: list[Row] = []
        for row in self.rows:
            was = old.get(row[0], (row[0], 0.0, 0.0, 0.0, 0.0))
            a, b, c, d = (max(new - left * held, 0.0) for new, held in zip(row[1:], was[1:], strict=True))
            came.append((row[0], a, b, c, d))
        return came


class FirstTokens(_Part):
    """As `FirstToken.dump` has them; `aged` as in `Rows`."""

    aged: Sum = 0.0
    sums: tuple[Sum, Sum, Sum, Sum, Sum] = (0.0,) * 5

    def since(self, before: "FirstTokens") -> list[float]:
        """As in `Rows`."""
        left = _left(self.aged, before.aged)
        return [max(new - left * was, 0.0) for new, was in zip(self.sums, before.sums, strict=True)]


class PoolReport(_Part):
    """One pool. Tokens in `shape` and `guests` are divided by the level of their time; `level` is that of the report.

    `ended` of the requests ended by themselves, with `tokens` together; `seen` of them told a speed. `idle`: seconds
    since the last that did; None: none did.
    """

    shape: Rows = Rows()
    guests: Rows = Rows()
    first: FirstTokens = FirstTokens()
    ended: Sum = 0.0
    tokens: Sum = 0.0
    seen: Sum = 0.0
    level: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    idle: Sum | None = None


NOTHING = PoolReport()


class Report(_Part):
    """All of a gateway's own evidence on a model. `epoch`: a name for its sums since they were last nothing.

    What a reader of another `version` would misread is for it to leave alone; fields that it does not know do no harm.
    """

    version: Literal[1] = VERSION
    epoch: str
    half_life: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
    shared_hardware: bool
    pools: dict[Role, PoolReport]


def _left(aged: float, before: float) -> float:
    return exp2(-max(aged - before, 0.0))
