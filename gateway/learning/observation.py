"""What a request tells when it has ended."""

from typing import NamedTuple


class Observation(NamedTuple):
    """One answer, as its replica gave it. Times are seconds, of one monotonic clock.

    `at`: when it ended. `tokens`: those of the answer, in `events` events (0: unknown). `seconds`: from the first byte
    to the last; without `ttft` (an answer in one piece), from sending the request to the last byte. `inflight`:
    requests on the replica, this one included, as a mean over that time. `beside`: where pools share hardware, the same
    of the other pool's requests, per replica of this one. `prompt_tokens`: its own; `waiting`: those on the replica
    without a first token when it was sent, its own included. `finished`: whether it ended by itself.
    """

    at: float
    tokens: int
    seconds: float
    inflight: float
    events: int = 0
    prompt_tokens: int = 0
    ttft: float | None = None
    waiting: float = 0.0
    beside: float = 0.0
    finished: bool = True
