"""What one gateway tells others of the speeds that it has seen: sums, not requests, in a form that can be told apart.

Sums only grow and fade, and say how far they have faded. So the difference of two reports of one gateway is what it has
seen in between, no matter how often a report is read, or how many in between were missed.
"""

from collections.abc import Sequence
from math import exp2
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gateway.learning.level import FASTEST, SLOWEST
from gateway.learning.sketch import nearest
from gateway.routing import NODES, Role

VERSION: Literal[1] = 1

# What no gateway sees, however long it has run. Beyond these nothing is computed with: a report is what somebody wrote.
_MOST_SUM, _MOST_SQUARES = 1e15, 1e24
# Seconds per token, at any level, and a request's seconds, tokens, in-flight and waiting prompt tokens.
_PACES, _SECONDS, _MOST_TOKENS, _MOST_INFLIGHT = (1e-9, 1e9), (1e-6, 1e7), 1e11, 1e6
_LEAST_WAITING, _MOST_WAITING = 1e-9, 1e9
# What sums that were halved, added and subtracted are out by.
_ROUNDING = 0.01

Sum = Annotated[float, Field(ge=0.0, le=_MOST_SUM, allow_inf_nan=False)]
Squares = Annotated[float, Field(ge=0.0, le=_MOST_SQUARES, allow_inf_nan=False)]
Node = Annotated[int, Field(ge=0, lt=len(NODES))]
Row = tuple[Node, Sum, Sum, Sum, Sum]
"""As `Sketch.dump` has them: node, requests, tokens, seconds, seconds x in-flight."""


def plausible(row: Row) -> bool:
    """Whether requests at that node can add up to this."""
    node, requests, tokens, seconds, moment = row
    if min(requests, tokens, seconds, moment) <= 0.0:
        return False
    inflight = moment / seconds
    return (
        _PACES[0] <= seconds / tokens <= _PACES[1]
        and _SECONDS[0] <= seconds / requests <= _SECONDS[1]
        and tokens / requests <= _MOST_TOKENS
        and nearest(inflight * (1 - _ROUNDING)) <= node <= nearest(inflight * (1 + _ROUNDING))
        and 1 - _ROUNDING <= inflight <= _MOST_INFLIGHT
    )


def plausible_first(sums: Sequence[float]) -> bool:
    """Whether times to first token can add up to this."""
    requests, waiting, seconds, squares, products = sums
    if requests <= 0.0:
        return not any(sums)
    return (
        seconds <= _SECONDS[1] * requests
        and (_LEAST_WAITING * requests <= waiting <= _MOST_WAITING * requests or waiting == squares == products == 0.0)
        # By the inequality of Cauchy and Schwarz.
        and waiting * waiting <= (1 + _ROUNDING) * requests * squares
        and squares <= (1 + _ROUNDING) * _MOST_WAITING * waiting
        and products <= (1 + _ROUNDING) * min(_SECONDS[1] * waiting, _MOST_WAITING * seconds)
    )


def _possible(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    if len({row[0] for row in rows}) < len(rows):
        raise ValueError("a node comes twice")
    if not all(plausible(row) for row in rows):
        raise ValueError("no requests add up to this")
    return rows


def _possible_first(sums: tuple[float, float, float, float, float]) -> tuple[float, float, float, float, float]:
    if not plausible_first(sums):
        raise ValueError("no requests add up to this")
    return sums


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Rows(_Part):
    """A sketch; `aged`: how many halvings what was in it at its beginning has been through."""

    aged: Sum = 0.0
    rows: Annotated[tuple[Row, ...], Field(max_length=len(NODES)), AfterValidator(_possible)] = ()

    def since(self, before: "Rows") -> list[Row]:
        """What came in after `before`, an earlier report of the same sketch; no row that is not plausible."""
        left = _left(self.aged, before.aged)
        old = {row[0]: row for row in before.rows}
        came: list[Row] = []
        for row in self.rows:
            was = old.get(row[0], (row[0], 0.0, 0.0, 0.0, 0.0))
            a, b, c, d = (max(now - left * held, 0.0) for now, held in zip(row[1:], was[1:], strict=True))
            if plausible(new := (row[0], a, b, c, d)):
                came.append(new)
        return came


class FirstTokens(_Part):
    """As `FirstToken.dump` has them; `aged` as in `Rows`."""

    aged: Sum = 0.0
    sums: Annotated[tuple[Sum, Sum, Sum, Squares, Squares], AfterValidator(_possible_first)] = (0.0,) * 5

    def since(self, before: "FirstTokens") -> list[float]:
        """As in `Rows`."""
        left = _left(self.aged, before.aged)
        came = [max(new - left * was, 0.0) for new, was in zip(self.sums, before.sums, strict=True)]
        return came if plausible_first(came) else [0.0] * 5


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
    level: Annotated[float, Field(ge=SLOWEST, le=FASTEST)] = 1.0
    idle: Sum | None = None


NOTHING = PoolReport()


class Report(_Part):
    """All of a gateway's own evidence on a model. `epoch`: a name for its sums since they were last nothing.

    What a reader of another `version` would misread is for it to leave alone; fields that it does not know do no harm.
    """

    version: Literal[1] = VERSION
    epoch: str
    half_life: Annotated[float, Field(gt=0.0, le=_MOST_SUM)]
    shared_hardware: bool
    pools: dict[Role, PoolReport]


def _left(aged: float, before: float) -> float:
    return exp2(-max(aged - before, 0.0))
