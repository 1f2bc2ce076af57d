"""Learning together with other gateways: each tells what it has seen itself, and takes in what the others have.

What was taken in is not told again, so nothing counts twice: what a gateway goes by is the sum of what each has seen,
as if one had seen all of it. What was told by a gateway that is gone fades as its own would.
"""

from collections.abc import Set

from gateway.learning.learning import Learning
from gateway.learning.report import NOTHING, Report

# Half-lives of absence after which another gateway is forgotten: what it says then it says anew.
_FORGET = 4.0


class Shares:
    """One learning's share in what several learn. Pure: reports come and go by the caller's hands."""

    def __init__(self, learning: Learning, epoch: str, before: "Shares | None" = None) -> None:
        """Tell of what is observed from now on. `epoch`: a name that nobody has had.

        `before`: the shares of the learning whose dump this one has loaded.
        """
        self.learning = learning
        self._epoch = epoch
        self._own = {role: pool.start_telling() for role, pool in learning.pools.items()}
        self._taken: dict[str, Report] = {} if before is None else dict(before._taken)
        self._missed: dict[str, float] = {}

    @property
    def observed(self) -> int:
        """How many requests there are to tell of."""
        return sum(own.observed for own in self._own.values())

    def report(self, now: float) -> Report:
        """What was seen here, and nothing else."""
        pools, settings = self.learning.pools, self.learning.settings
        return Report(
            epoch=self._epoch,
            half_life=settings.half_life,
            shared_hardware=settings.shared_hardware,
            pools={role: own.report(pools[role].level.factor, now) for role, own in self._own.items()},
        )

    def take(self, source: str, report: Report, age: float, now: float) -> None:
        """Take in what this other gateway has seen since its last report, which is `age` seconds old.

        To read a report again, or one that missed some, does no harm. Of several, take the oldest first: the level is
        then that of the newest.
        """
        if report.shared_hardware != self.learning.settings.shared_hardware:
            return
        before = self._taken.get(source)
        self._taken[source] = report
        known = before.pools if before is not None and before.epoch == report.epoch else {}
        for role, pool in self.learning.pools.items():
            told = report.pools.get(role, NOTHING)
            pool.take(told, known.get(role, NOTHING), 2.0 ** -(age / report.half_life), now - age)

    def keep(self, sources: Set[str], now: float) -> None:
        """These can still be heard. Who can't for long is forgotten: not at once, as an empty Redis fills again."""
        for source in list(self._taken):
            if source in sources:
                self._missed.pop(source, None)
            elif now - self._missed.setdefault(source, now) > _FORGET * self.learning.settings.half_life:
                del self._taken[source], self._missed[source]
