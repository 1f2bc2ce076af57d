"""Which replica of a pool: least in-flight, ties broken by affinity (rendezvous hashing)."""

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar
from zlib import crc32


class Candidate(Protocol):
    """What balancing needs to know of a replica."""

    @property
    def inflight(self) -> int: ...

    @property
    def digest(self) -> int:
        """A number that stays the same for the replica's URL."""
        ...


C = TypeVar("C", bound=Candidate)

_MIX = 0x9E3779B1


def least_inflight(candidates: Sequence[C], affinity: int, excluded: Collection[C] = ()) -> C | None:
    """Return the candidate with the fewest in-flight requests, or None if all are excluded.

    Of equals, the one that wins the rendezvous for `affinity`: the same key meets the same replica for as long as it is
    among the tied, whatever the order of `candidates`.
    """
    best: C | None = None
    fewest = score = 0
    for candidate in candidates:
        if best is not None and candidate.inflight > fewest:
            continue
        if candidate in excluded:
            continue
        rank = ((candidate.digest ^ affinity) * _MIX) & 0xFFFFFFFF
        if best is None or candidate.inflight < fewest or rank > score:
            best, fewest, score = candidate, candidate.inflight, rank
    return best


def digest(text: bytes) -> int:
    """A stable 32-bit number of a replica's URL or of an affinity key."""
    return crc32(text)
