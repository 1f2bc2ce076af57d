"""What the samples of a sweep say. Pure functions: from samples to cells, to comparisons, to words."""

from loadtest.stats.cells import Cell, Generator, summarise
from loadtest.stats.compare import Comparison, Gain, compare
from loadtest.stats.crossover import Crossover, crossover
from loadtest.stats.numbers import Quantiles, Spread, percentile, quantiles, spread
from loadtest.stats.users import by_kind, in_flight, judge_users
from loadtest.stats.verdict import Verdict, judge

__all__ = [
    "Cell",
    "Comparison",
    "Crossover",
    "Gain",
    "Generator",
    "Quantiles",
    "Spread",
    "Verdict",
    "by_kind",
    "compare",
    "crossover",
    "in_flight",
    "judge",
    "judge_users",
    "percentile",
    "quantiles",
    "spread",
    "summarise",
]
