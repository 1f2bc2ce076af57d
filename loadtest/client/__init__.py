"""The measuring client: sends one streamed request and says what its user would have seen of it, and when.

What is measured is decided in one place that knows no sockets (`exchange`). Two drivers move its bytes: `aio` for the
sweep, on asyncio, and `blocking` for locust's users, whose sockets locust turns into cooperative ones.
"""

from loadtest.client.aio import AsyncClient
from loadtest.client.blocking import BlockingClient
from loadtest.client.exchange import Exchange
from loadtest.client.sample import Outcome, Sample
from loadtest.client.target import Ask, BadTargetError, Target, parse_target

__all__ = [
    "Ask",
    "AsyncClient",
    "BadTargetError",
    "BlockingClient",
    "Exchange",
    "Outcome",
    "Sample",
    "Target",
    "parse_target",
]
