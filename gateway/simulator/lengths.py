"""How long prompts and answers are: `512`, `exponential:512`, `lognormal:512:1.0`."""

import math
from collections.abc import Callable
from random import Random
from typing import NamedTuple


class LengthError(ValueError):
    """No such distribution. The message says what there is."""


class Length(NamedTuple):
    """A distribution: how to draw from it, and its mean before rounding. Both in tokens."""

    draw: Callable[[Random], int]
    mean: float


def parse(text: str, least: int = 1) -> Length:
    """Lengths of `least` or more: `N`, `exponential:MEAN`, `lognormal:MEAN:SIGMA`.

    `SIGMA` is the standard deviation of the length's logarithm.

    Raises:
        LengthError: it is none of these.
    """
    kind, *parts = text.split(":")
    try:
        if not parts:
            return _fixed(max(int(kind), least))
        mean, *shape = (float(part) for part in parts)
    except ValueError as error:
        raise LengthError(_message(text)) from error
    if all(math.isfinite(number) and number > 0 for number in (mean, *shape)):
        match kind, shape:
            case "exponential", []:
                return Length(lambda random: max(round(random.expovariate(1.0 / mean)), least), mean)
            case "lognormal", [sigma]:
                mu = math.log(mean) - sigma * sigma / 2.0
                return Length(lambda random: max(round(random.lognormvariate(mu, sigma)), least), mean)
    raise LengthError(_message(text))


def _fixed(length: int) -> Length:
    return Length(lambda _: length, float(length))


def _message(text: str) -> str:
    return f"{text} is no length: N, exponential:MEAN or lognormal:MEAN:SIGMA, in tokens"
