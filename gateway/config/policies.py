"""How a request's pool is chosen: one section for each policy."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from .section import Section
from .values import Count, PositiveInt, PositiveRatio, Ratio, Seconds, SecondsOrZero

Role = Literal["speculative", "baseline"]


class Queue(Section):
    """Requests that wait while every pool of a model is full; beyond it, 429."""

    size: Count = 128
    """Requests that may wait; 0 answers 429 at once."""
    timeout: Seconds = 30.0
    """Seconds a request may wait before it gets 429."""


class ThresholdPolicy(Section):
    """Speculative pool while in-flight is under threshold x ready replicas, baseline pool over it."""

    kind: Literal["threshold"] = "threshold"
    """Chooses this policy."""
    mode: Literal["spill", "switch"] = "spill"
    """`spill` sends only the excess to the baseline pool; `switch` every new request while over the limit."""
    threshold: PositiveInt = 5
    """In-flight requests per ready speculative replica; the limit is this times the ready replicas."""
    resume_below: PositiveRatio = 0.6
    """With `switch`: share of the limit that in-flight must fall below before speculation resumes."""
    min_dwell: SecondsOrZero = 2.0
    """With `switch`: seconds that in-flight must stay below `resume_below`."""
    queue: Queue = Queue()
    """Where requests wait while every pool is full."""
    allow_pinning: bool = False
    """Whether a request may name its pool in the `x-spillway-pool` header."""


class PinnedPolicy(Section):
    """Every request to one pool: an arm of an experiment."""

    kind: Literal["pinned"]
    """Chooses this policy."""
    pool: Role
    """The pool that serves every request."""
    queue: Queue = Queue()
    """Where requests wait while the pool is full."""
    allow_pinning: bool = False
    """Whether a request may name its pool in the `x-spillway-pool` header."""


class Fallback(Section):
    """How `threshold` places requests while too little is known: mode `spill`, or `switch` on shared hardware."""

    threshold: PositiveInt = 5
    """In-flight requests per ready speculative replica."""
    resume_below: PositiveRatio = 0.6
    """On shared hardware: share of the limit that in-flight must fall below before speculation resumes."""
    min_dwell: SecondsOrZero = 2.0
    """On shared hardware: seconds that in-flight must stay below `resume_below`."""


class CurvePoint(Section):
    """How fast one request is, at so many on a replica."""

    inflight: PositiveInt
    """Requests on the replica."""
    rate: Annotated[float, Field(gt=0)]
    """Tokens per second that each of them gets."""


class Curves(Section):
    """What was measured before: a few points for each pool, to begin with."""

    speculative: Annotated[tuple[CurvePoint, ...], Field(min_length=1)]
    """Of a replica of the speculative pool."""
    baseline: Annotated[tuple[CurvePoint, ...], Field(min_length=1)]
    """Of a replica of the baseline pool."""


class AdaptivePolicy(Section):
    """Each request to the pool in which it is worth most, by what is learned from those before it."""

    kind: Literal["adaptive"]
    """Chooses this policy."""
    objective: Literal["latency", "balanced", "throughput"] = "balanced"
    """What worth is: the request's own speed, what all gain by it in tokens per second, or a mean of both."""
    weight: Ratio = 0.85
    """With `balanced`: how much the others' loss of speed counts; 0 is `latency`, 1 is `throughput`."""
    shared_hardware: bool = False
    """Whether both pools run on the same hardware: then the whole load goes to one or the other."""
    half_life: Seconds = 300.0
    """Seconds after which an observation counts half."""
    exploration: Ratio = 0.01
    """Share of the requests that may go elsewhere to learn, and of all speed that it may cost; 0: none."""
    curves: Curves | None = None
    """What is known at the start."""
    fallback: Fallback = Fallback()
    """What decides while too little is known."""
    queue: Queue = Queue()
    """Where requests wait while every pool is full."""
    allow_pinning: bool = False
    """Whether a request may name its pool in the `x-spillway-pool` header."""


def _with_kind(value: object) -> object:
    return {"kind": "threshold", **value} if isinstance(value, dict) else value


# The discriminator wants `kind` present, while the file may leave it out.
Policy = Annotated[
    ThresholdPolicy | AdaptivePolicy | PinnedPolicy, Field(discriminator="kind"), BeforeValidator(_with_kind)
]
