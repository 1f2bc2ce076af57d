"""The oracle: for every number of requests it knows the best division between the pools, from the true curves."""

from functools import cached_property
from itertools import accumulate

from gateway.routing import ModelLoad, Placement, Reason, prefer
from gateway.simulator.arms import Arm
from gateway.simulator.engine import EngineModel, Job
from gateway.simulator.fleet import Site

_MOST_DIVISIONS = 512


class Oracle(Arm):
    """Sends each newcomer where the best division of the present number of requests wants one more.

    A division is worth, summed over replicas that hold n requests each, w n r(n) + (1 - w) (r(1) + ... + r(n)): with
    weight w = 1 the tokens per second of the whole; with 0 the division at which nobody would be faster in the other
    pool (Rosenthal's potential); between them what `adaptive` weighs with the same weight. The best is found by trial,
    of all divisions or of 512 of them. No bound: it does not know the future, and moves nobody who runs.
    """

    def __init__(self, site: Site, name: str = "oracle", weight: float = 1.0) -> None:
        """The models of `site` are what the oracle knows: with prompts in them, as `curves.with_prompts` makes them."""
        super().__init__(name)
        self._site = site
        self._weight = weight
        self._scale = 1.0
        self._best: dict[int, int] = {}

    def accept(self, accept_length: float) -> None:
        """As `Fleet.accept`."""
        drafting = self._site.speculative.accept_length
        if drafting is not None:
            self._scale = accept_length / drafting
            self._best.clear()

    def place(self, load: ModelLoad, _job: Job, _now: float, /) -> Placement:
        total = load.inflight + 1
        best = self._best.get(total)
        if best is None:
            best = self._best[total] = self._divide(total)
        held = load.speculative.inflight if load.speculative else 0
        if held < best:
            return prefer(load, "speculative", Reason.UNDER_THRESHOLD)
        return prefer(load, "baseline", Reason.OVER_THRESHOLD)

    def worth(self, speculative: int, baseline: int) -> float:
        """What the fleet is worth while its pools hold so many."""
        site, weight = self._site, self._weight
        if site.shared == "time" and speculative and baseline:
            each = -(-(speculative + baseline) // min(site.replicas))
            fast, plain = site.speculative.rate(each) * self._scale, site.baseline.rate(each)
            return speculative * fast + baseline * plain
        loss = site.shared if isinstance(site.shared, float) and speculative and baseline else 0.0
        fast = self._speculative.worth(speculative, site.replicas[0], weight)
        return (1.0 - loss) * (fast * self._scale + self._baseline.worth(baseline, site.replicas[1], weight))

    def _divide(self, total: int) -> int:
        """How many of `total` belong into the speculative pool."""
        most = self._site.max_inflight
        low = max(0, total - most * self._site.replicas[1])
        high = min(total, most * self._site.replicas[0])
        if low >= high:
            return high
        step = max(1, (high - low) // _MOST_DIVISIONS)
        divisions: list[int] = [*range(low, high, step), high]
        return max(divisions, key=lambda held: self.worth(held, total - held))

    @cached_property
    def _speculative(self) -> "_Pool":
        return _Pool(self._site.speculative, self._site.max_inflight)

    @cached_property
    def _baseline(self) -> "_Pool":
        return _Pool(self._site.baseline, self._site.max_inflight)


class _Pool:
    """A curve with its sums."""

    def __init__(self, model: EngineModel, most: int) -> None:
        rates = [0.0, *(model.rate(held) for held in range(1, most + 2))]
        self._totals = [held * rate for held, rate in enumerate(rates)]
        self._sums = list(accumulate(rates))

    def worth(self, held: int, replicas: int, weight: float) -> float:
        """Of `replicas` that hold so many together, spread evenly: some hold one more than the others."""
        each, more = divmod(held, replicas)

        def one(count: int) -> float:
            return weight * self._totals[count] + (1.0 - weight) * self._sums[count]

        return more * one(each + 1) + (replicas - more) * one(each)
