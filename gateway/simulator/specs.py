"""What the command line calls loads, policies and steps by, and what they stand for."""

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from gateway.routing import ROLES, AdaptiveSettings
from gateway.simulator import trace
from gateway.simulator.adaptive import Adaptive
from gateway.simulator.arms import Arm, Pinned, Spill, Switch
from gateway.simulator.fleet import Site
from gateway.simulator.load import DAY, ClosedLoop, Open, Rate, Requests, Source, bursts, day, poisson, steady
from gateway.simulator.oracle import Oracle
from gateway.simulator.sharing import Sharing
from gateway.simulator.simulation import Step

CLOSED = "closed"
WEIGHTS = {"latency": 0.0, "balanced": AdaptiveSettings().weight, "throughput": 1.0}
MODES: dict[str, Callable[[int], Arm]] = {"spill": Spill, "switch": Switch}
POLICIES = "pinned, pinned:ROLE, spill:N, spill:N-M, switch:N, switch:N-M, adaptive[:OBJECTIVE], oracle[:OBJECTIVE]"
LOADS = "closed:N, poisson:RATE, bursts:LOW:HIGH:PERIOD:SHARE, day:LOW:HIGH[:PERIOD], trace:FILE[:SPEED]"


class SpecError(ValueError):
    """A word that stands for nothing. The message says which words do."""


def policies(texts: Iterable[str]) -> list[str]:
    """Every policy that is meant, once each: `pinned` is two, `spill:2-10` nine.

    Raises:
        SpecError: one is unknown.
    """
    found = dict.fromkeys(name for text in texts for word in text.split(",") for name in _policies(word.strip()))
    return list(found)


def _policies(word: str) -> Iterator[str]:
    kind, _, rest = word.partition(":")
    if kind == "pinned" and rest in ("", *ROLES):
        yield from (f"pinned:{role}" for role in ROLES if rest in ("", role))
    elif kind in MODES:
        low, _, high = rest.partition("-")
        if not low.isdecimal() or not (high or low).isdecimal() or not 1 <= int(low) <= int(high or low) <= 1_000_000:
            raise SpecError(f"{word} is no policy: {kind}:N or {kind}:N-M, from 1 on")
        yield from (f"{kind}:{threshold}" for threshold in range(int(low), int(high or low) + 1))
    elif kind == "adaptive" and rest in ("", *WEIGHTS):
        yield from (f"adaptive:{objective}" for objective in WEIGHTS if rest in ("", objective))
    elif word == "oracle" or (kind == "oracle" and rest in WEIGHTS):
        yield word
    else:
        raise SpecError(f"{word} is no policy: {POLICIES}")


def arm(name: str, known: Site, seed: int) -> Arm:
    """The policy of a name that `policies` gave; `known` is what an oracle knows of the fleet."""
    kind, _, rest = name.partition(":")
    if kind == "pinned":
        return Pinned("speculative" if rest == "speculative" else "baseline")
    if kind in MODES:
        return MODES[kind](int(rest))
    if kind == "adaptive":
        # Where one engine does not fill the hardware, both are worth using: that is no shared hardware in the sense of
        # the configuration.
        return Adaptive(name, WEIGHTS[rest], shared=known.shared == "time", most=known.max_inflight, seed=seed)
    return Oracle(known, name, WEIGHTS[rest or "throughput"])


def loads(texts: Iterable[str]) -> list[str]:
    """Every load that is meant: `closed:1,2,5` is three, `poisson:1,2` two.

    Raises:
        SpecError: one is unknown.
    """
    return list(dict.fromkeys(load for text in texts for load in _loads(text)))


def _loads(text: str) -> Iterator[str]:
    kind, _, rest = text.partition(":")
    if kind == "trace":
        if not rest:
            raise SpecError(f"{text} is no load: {LOADS}")
        yield text
        return
    for one in rest.split(",") if kind in (CLOSED, "poisson") else [rest]:
        if kind == CLOSED and (not one.isdecimal() or not 1 <= int(one) <= 1_000_000):
            raise SpecError(f"{text} is no load: closed:N, with N clients from 1 to 1,000,000")
        if kind != CLOSED:
            _rate(kind, one)
        yield f"{kind}:{one}"


def source(load: str, requests: Requests, seed: int) -> Source:
    """What sends the requests of a load that `loads` gave.

    Raises:
        TraceError: as of `trace.read`, for a trace whose first line is none.
    """
    kind, _, rest = load.partition(":")
    if kind == CLOSED:
        return ClosedLoop(int(rest), requests)
    if kind == "trace":
        path, speed = _path_and_speed(rest)
        return Open(trace.read(path, seed, speed))
    return Open(poisson(_rate(kind, rest), requests, seed))


def _path_and_speed(rest: str) -> tuple[Path, float]:
    path, _, speed = rest.rpartition(":")
    try:
        factor = float(speed)
    except ValueError:
        return Path(rest), 1.0
    return (Path(path), factor) if path and factor > 0 else (Path(rest), 1.0)


def _rate(kind: str, rest: str) -> Rate:
    try:
        numbers = [float(part) for part in rest.split(":")]
    except ValueError:
        numbers = []
    if all(math.isfinite(number) and number >= 0 for number in numbers):
        match kind, numbers:
            case "poisson", [rate] if rate > 0:
                return steady(rate)
            case "bursts", [low, high, period, share] if 0 < low <= high and period > 0 and share <= 1:
                return bursts(low, high, period, share)
            case "day", [low, high] if 0 < low <= high:
                return day(low, high, DAY)
            case "day", [low, high, period] if 0 < low <= high and period > 0:
                return day(low, high, period)
    raise SpecError(f"{kind}:{rest} is no load: {LOADS}; rates per second, LOW at most HIGH, PERIOD in seconds")


def steps(texts: Iterable[str]) -> tuple[Step, ...]:
    """Steps of acceptance, each `SECONDS:TOKENS`, in order of time.

    Raises:
        SpecError: one is not of this form, or gives less than one token a step.
    """
    found = []
    for text in texts:
        time, _, accept = text.partition(":")
        try:
            step = Step(float(time), float(accept))
        except ValueError as error:
            raise SpecError(f"{text} is no step: SECONDS:TOKENS, as 600:1.3") from error
        if not (0 <= step.time < math.inf and 1 <= step.accept_length < math.inf):
            raise SpecError(f"{text} is no step: from second 0 on, and at least one token a step")
        found.append(step)
    return tuple(sorted(found))


def sharing(text: str) -> Sharing:
    """What `--shared` says.

    Raises:
        SpecError: it is none of the three.
    """
    if text == "own":
        return "own"
    if text == "time":
        return "time"
    try:
        loss = float(text)
    except ValueError:
        loss = 0.0
    if not 0.0 < loss < 1.0:
        raise SpecError(f"{text} is no way to share hardware: own, time, or the share that is lost, between 0 and 1")
    return loss


def is_closed(load: str) -> bool:
    """Whether it is a closed loop."""
    return load.startswith(f"{CLOSED}:")
