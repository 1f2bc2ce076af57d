"""What a model's gateways tell each other, through Redis, of the speeds that they have seen."""

import secrets
from collections.abc import Callable, Set
from typing import Any

from gateway.learning import Learning, Report, Shares
from gateway.load.shared import Exchange, Note, SharedCounts

# Half-lives after which what a gateway has told is dropped that tells no more: a sixteenth of it counts then.
_KEPT = 4.0


class Evidence:
    """Leaves reports of what this gateway has seen, and takes in the others'. `unread`: reports that were refused."""

    def __init__(
        self,
        model: str,
        learning: Learning,
        shared: SharedCounts,
        clock: Callable[[], float],
        before: "Evidence | None" = None,
    ) -> None:
        """`clock` gives monotonic seconds; `before`: of the learning that this one was made of. Ends that."""
        self.unread = 0
        self._shared = shared
        self._clock = clock
        self._half_life = learning.settings.half_life
        told = None if before is None else before._shares
        self._shares: Shares = Shares(learning, secrets.token_hex(8), told)
        self._written, self._written_at = 0, clock()
        if before is not None:
            before.close()
        self._exchange: Exchange = shared.exchange(model, _KEPT * self._half_life, self)

    @property
    def learning(self) -> Learning:
        """Whose evidence it is."""
        return self._shares.learning

    @property
    def gateways(self) -> int:
        """Of so many gateways, this one included, the evidence comes; 1 while Redis is away."""
        return 1 + len(self._exchange.others)

    def close(self) -> None:
        """Tell and hear no more."""
        self._shared.end(self._exchange)

    def explain(self) -> dict[str, Any]:
        """For /status."""
        exchange = self._exchange
        return {
            "source": "redis" if exchange.state == "up" else "local",
            "gateways": self.gateways,
            "unread": self.unread,
            "error": exchange.error,
        }

    def news(self) -> str:
        """See Correspondent. What is not news is told again now and then, so that it is kept."""
        observed, now = self._shares.observed, self._clock()
        if not observed or (observed == self._written and now - self._written_at < self._half_life):
            return ""
        self._written, self._written_at = observed, now
        return self._shares.report(now).model_dump_json()

    def told(self, notes: list[Note], others: Set[str]) -> None:
        """See Correspondent."""
        now = self._clock()
        for note in notes:
            try:
                self._shares.take(note.gateway, Report.model_validate_json(note.text), note.age, now)
            except (ValueError, ArithmeticError):
                # A newer version's, while gateways are replaced one by one, or one that makes no sense.
                self.unread += 1
        self._shares.keep(others, now)
