"""What discovery tells a pool."""

from collections.abc import Iterable
from typing import NamedTuple


class Delta(NamedTuple):
    """A change of what is observed: base URLs that are there now and were not, and the other way round."""

    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


# Every base URL there is, or what changed since the last time.
Observed = Iterable[str] | Delta
