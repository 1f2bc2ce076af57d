"""The script of shared counts by itself: what a step costs Redis, and what a lease takes of its memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import redis

from gateway.load.shared.step import TEXT, Script, Terms
from gateway.routing import digest

_ROUNDS, _LEASES = 2000, 20_000
# By policy `threshold`, mode `spill`: the speculative pool unless it is over or full.
_LETTERS = "-bss-bbb" * 2


@dataclass(frozen=True)
class Step:
    """Requests that a step asks for and gives back, and microseconds of Redis' CPU for it."""

    requests: int
    micros: float


@dataclass
class _Ask:
    lease: int
    test: str = "s"
    letters: str = _LETTERS
    affinity: int = 7
    waited: int = 0
    tried: Sequence[str] = ()


def steps(client: "redis.Redis") -> list[Step]:
    """Steps of 1, 4, 16 and 64 requests."""
    return [Step(size, _cost(client, size)) for size in (1, 4, 16, 64)]


def memory_per_lease(client: "redis.Redis") -> float:
    """Bytes, with a URL such as http://10.0.0.1:30000."""
    script = _entered(client, "bench.memory")
    before = _info(client, "memory")["used_memory"]
    leases = {1000 + number: f"b http://10.0.0.{number % 16}:30000" for number in range(_LEASES)}
    client.execute_command(*script.step("step", Terms(), adopt=leases))
    used = (_info(client, "memory")["used_memory"] - before) / _LEASES
    client.execute_command(*script.step("step", Terms(), release=list(leases)))
    return float(used)


def _cost(client: "redis.Redis", size: int) -> float:
    script, terms = _entered(client, f"bench.{size}"), Terms(10, -1.0, 0, 128, 128)
    client.config_resetstat()
    for number in range(_ROUNDS):
        before, now = (number - 1) * size, number * size
        asks = [_Ask(1000 + now + at) for at in range(size)]
        command = script.step("step", terms, release=[1000 + before + at for at in range(size)], asks=asks)
        client.execute_command(*command)
    spent = _info(client, "commandstats")["cmdstat_evalsha"]["usec_per_call"]
    client.execute_command(*script.step("step", terms, forget=(script.incarnation,)))
    return float(spent)


def _entered(client: "redis.Redis", name: str) -> Script:
    client.script_load(TEXT)
    script = Script("bench", "m", name, 3600.0)
    client.execute_command(*script.hello())
    first, second = (
        [item for url in (f"http://10.0.{pool}.{number}:30000" for number in range(count)) for item in _seen(url)]
        for pool, count in ((0, 2), (1, 16))
    )
    client.execute_command(*script.step("step", Terms(), views=(first, second)))
    return script


def _seen(url: str) -> tuple[str, int]:
    return url, digest(url.encode())


def _info(client: "redis.Redis", section: str) -> dict[str, Any]:
    found: Any = client.info(section)
    return dict(found)
