"""Which replica of a pool: least in-flight, ties broken by affinity (rendezvous hashing)."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from sys import maxsize
from typing import Protocol, TypeVar
from zlib import crc32


class Candidate(Protocol):
    """What balancing needs to know of a replica."""

    @property
    def inflight(self) -> int: ...

    @property
    def outside(self) -> int:
        """Requests that its engine holds beside those."""
        ...

    @property
    def digest(self) -> int:
        """A number that stays the same for the replica's URL."""
        ...


C = TypeVar("C", bound=Candidate)

_MIX = 0x9E3779B1
# Up to so many candidates all are looked at; of more, a sample of this size.
EXACT = 64


def least_inflight(
    candidates: Sequence[C], affinity: int, excluded: Collection[C] = (), *, outside: bool = True
) -> C | None:
    """Return the candidate with the fewest requests, in flight and from outside, or None if all are excluded.

    Of equals, the one that wins the rendezvous for `affinity`: the same key meets the same replica for as long as it is
    among the tied, whatever the order of `candidates`. `outside=False` says that none has requests from outside, which
    need not be looked for then.
    """
    best: C | None = None
    fewest, score = maxsize, -1
    for candidate in candidates:
        count = candidate.inflight
        if outside:
            count += candidate.outside
        if count > fewest:
            continue
        if candidate in excluded:
            continue
        rank = ((candidate.digest ^ affinity) * _MIX) & 0xFFFFFFFF
        if count < fewest or rank > score:
            best, fewest, score = candidate, count, rank
    return best


def balanced(
    ring: Sequence[C], affinity: int, total: int, ceiling: int, excluded: Collection[C] = (), *, outside: bool = True
) -> C | None:
    """Return a candidate with few requests, at a cost that does not grow with their number; None for none.

    `ring` is sorted by digest. Up to `EXACT` candidates, this is `least_inflight`. Of more, it is that among the
    neighbours of the affinity's place in the ring, so that a key meets the same few whoever else comes and goes. If
    none of those is below `ceiling` and at most at the mean of `total` over all (rounded up), neighbours of another
    place are asked, and in the end everybody: one below the ceiling is found whenever there is one.
    """
    if len(ring) > EXACT:
        fair = min(-(-total // len(ring)), ceiling - 1)
        for place in (affinity, affinity + total + 1):
            best = least_inflight(_neighbours(ring, place), affinity, excluded, outside=outside)
            if best is not None and best.inflight + best.outside <= fair:
                return best
    return least_inflight(ring, affinity, excluded, outside=outside)


def _neighbours(ring: Sequence[C], place: int) -> Sequence[C]:
    start = bisect_left(ring, (place * _MIX) & 0xFFFFFFFF, key=_digest)
    near = ring[start : start + EXACT]
    return near if len(near) == EXACT else (*near, *ring[: EXACT - len(near)])


def _digest(candidate: Candidate) -> int:
    return candidate.digest


def digest(text: bytes) -> int:
    """A stable 32-bit number of a replica's URL or of an affinity key."""
    return crc32(text)
