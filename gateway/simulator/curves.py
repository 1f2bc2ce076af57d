"""From what was measured of an engine, total tokens per second by concurrency, to the model that is simulated."""

from collections.abc import Mapping
from typing import NamedTuple

from gateway.simulator.engine import EngineModel

# A prompt that is processed takes its turn before others: beyond this share of the time the measured totals leave none
# for the tokens.
_MOST = 0.95
_ROUNDS = 40


class Measured(NamedTuple):
    """Total tokens per second of one replica by requests at once, in a closed loop, and what the requests were like.

    Prompts of `prompt` tokens and answers of `output` tokens. Prefill as in `EngineModel`.
    """

    totals: Mapping[int, float]
    prompt: int
    output: int
    prefill_seconds: float
    prefill_rate: float
    stall: float
    accept_length: float | None = None
    lag: float = 0.0
    lag_alone: float | None = None

    def total(self, held: float) -> float:
        """Between two levels on the line between them, below the first on the line from nothing, then constant."""
        below, at_below = 0, 0.0
        for level, total in sorted(self.totals.items()):
            if held <= level:
                return at_below + (total - at_below) * (held - below) / (level - below)
            below, at_below = level, total
        return at_below


class CurveError(ValueError):
    """Figures that no engine can have. The message says which."""


def model(measured: Measured, most: int) -> EngineModel:
    """The engine that gives these totals, with rates for up to `most` requests.

    The measured totals include the time that prompts took. With n clients in a closed loop each request lasts
    n x output / total seconds (Little's law). Of these its own prompt takes s, waiting for other prompts
    u s / (2 (1 - u)) (Pollaczek and Khinchine, constant service), where u is the share of the time in which another's
    prompt is processed; the rest is left for the lag and the tokens after the first, at a speed that loses u x stall.

    Raises:
        CurveError: the prompts alone would take longer than the whole.
    """
    own = measured.prefill_seconds + measured.prompt / measured.prefill_rate
    alone = measured.lag if measured.lag_alone is None else measured.lag_alone
    rates = [0.0]
    for held in range(1, most + 1):
        total = measured.total(held)
        others = total / measured.output * own * (held - 1) / held
        lasts = held * measured.output / total
        if others >= _MOST or own >= lasts:
            raise CurveError(
                f"at {held} at once, prompts of {own:.3f} s leave no time for {total:.0f} tokens per second"
            )
        wait = others * own / (2.0 * (1.0 - others))
        decoding = lasts - own - wait
        if decoding <= 0.0:
            raise CurveError(f"at {held} at once, prompts leave no time for {total:.0f} tokens per second")
        lag = measured.lag if held > 1 else alone
        rate = (measured.output - 1 + lag) / (decoding * (1.0 - measured.stall * others))
        # Noise in the figures must not make a request faster by company.
        rates.append(rate if held == 1 else min(rate, rates[-1]))
    return EngineModel(
        rates,
        measured.prefill_seconds,
        measured.prefill_rate,
        measured.stall,
        measured.accept_length,
        measured.lag,
        measured.lag_alone,
    )


def with_prompts(engine: EngineModel, prompt: float, output: float) -> EngineModel:
    """The engine as requests of this size feel it, their prompts included: the reverse of `model`."""
    own = engine.prefill_seconds + prompt / engine.prefill_rate
    if not own and not engine.lag and not engine.lag_alone:
        return engine
    rates = [0.0]
    for held in range(1, len(engine.rates)):
        others = 0.0
        for _ in range(_ROUNDS):
            lasts = (
                own
                + others * own / (2.0 * (1.0 - others))
                + (max(output - 1.0, 0.0) + engine.lag_at(held)) / (engine.rates[held] * (1.0 - engine.stall * others))
            )
            # Half way, as the share overshoots where prompts fill most of the time.
            others = min((others + (held - 1) / lasts * own) / 2.0, _MOST)
        rates.append(output / lasts)
    return engine._replace(rates=rates, prefill_seconds=0.0, prefill_rate=float("inf"), lag=0.0, lag_alone=None)
