"""The in-flight counts at which rate curves have values: each up to 8, then four to a doubling, up to 4,096."""

from bisect import bisect_left

NODES: tuple[int, ...] = (*range(1, 9), *((step << power) for power in range(1, 10) for step in (5, 6, 7, 8)))
LAST = NODES[-1]
_INDEX = bytes(bisect_left(NODES, max(count, 1)) for count in range(LAST + 1))


def index(count: int) -> int:
    """The first node that is not below `count`; the last for more than there are."""
    return _INDEX[count] if 0 <= count <= LAST else len(NODES) - 1
