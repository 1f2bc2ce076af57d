"""Load snapshots for policies: pools of replicas that hold so many requests each."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from gateway.routing import ModelLoad, PoolLoad

ROOMY = 128


def pool(inflight: int, ready: int = 1, *, ceiling: int = ROOMY) -> PoolLoad:
    """A pool whose requests are spread evenly; `ceiling` is max_inflight."""
    return PoolLoad(inflight, ready, available=ready > 0, has_room=inflight < ready * ceiling)


def both(speculative: PoolLoad | None, baseline: PoolLoad | None) -> ModelLoad:
    return ModelLoad(speculative, baseline)


DOWN = pool(0, 0)
IDLE = pool(0)
FULL = PoolLoad(128, 1, available=True, has_room=False)
TRIED = PoolLoad(3, 1, available=False, has_room=False)  # every replica has failed this request already


@dataclass(frozen=True)
class Engine:
    """What balancing sees of a replica."""

    name: str
    digest: int
    inflight: int = 0
    outside: int = 0


@st.composite
def pools(draw: st.DrawFn) -> PoolLoad:
    """Any pool that can be: room needs a ready replica that is left to try."""
    ready = draw(st.integers(0, 4))
    available = ready > 0 and draw(st.booleans())
    return PoolLoad(draw(st.integers(0, 40)), ready, available, has_room=available and draw(st.booleans()))


loads = st.builds(ModelLoad, st.none() | pools(), st.none() | pools()).filter(lambda load: any(load))


@st.composite
def engines(draw: st.DrawFn, least: int = 1) -> Sequence[Engine]:
    """Replicas with different digests."""
    digests = draw(st.lists(st.integers(0, 2**32 - 1), min_size=least, max_size=8, unique=True))
    return [Engine(f"e{index}", value, draw(st.integers(0, 3))) for index, value in enumerate(digests)]
