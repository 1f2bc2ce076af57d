"""Keys that someone else wrote, a clock that was set back, gateways that were never heard again: nothing lasts."""

from collections.abc import Iterator
from importlib import resources

import pytest
import redis

from gateway.config import ThresholdPolicy
from gateway.routing import Role
from tests.shared.reference import Engine, Eyes, Wish
from tests.shared.scripted import BASE, EXPIRY, Shared
from tests.support.redis import RedisServer

S, B = "http://s:1", "http://b:1"
PLACES: dict[Role, tuple[Engine, ...] | None] = {"speculative": (Engine(S),), "baseline": (Engine(B),)}
SPILL = Eyes(ThresholdPolicy(threshold=2), PLACES, {"speculative": 9, "baseline": 9})
SWITCH = Eyes(ThresholdPolicy(threshold=2, mode="switch", min_dwell=0.0), PLACES, SPILL.caps)
COUNTS = {"s": 2, f"s {S}": 2, "b": 1, f"b {B}": 1}


@pytest.fixture
def client(redis: RedisServer) -> Iterator["redis.Redis"]:
    with redis.client() as made:
        yield made


@pytest.fixture
def shared(client: "redis.Redis") -> Shared:
    """Two gateways with three requests."""
    made = Shared(client)
    for number, name in enumerate(("a.1", "b.1")):
        made.enter(name)
        made.step(name, SPILL, what="beat", wishes=[(number, Wish())])
    made.step("b.1", SPILL, wishes=[(2, Wish())])
    assert made.totals() == COUNTS
    return made


@pytest.mark.parametrize("key", ["gateways", "counts", "switch", "waiting", "leases:a.1", "leases:b.1", "view:s:b.1"])
def test_a_key_of_another_kind(key: str, shared: Shared, client: "redis.Redis") -> None:
    """Each gateway fails, comes back under another name, and all is as it was."""
    client.set(f"{BASE}:{key}", "spoilt")
    for name, held in (("a", {0: S}), ("b", {1: S})):
        adopted: dict[int, tuple[Role, str]] = {lease: ("speculative", url) for lease, url in held.items()}
        if name == "b":
            adopted[2] = "baseline", B
        shared.enter(f"{name}.2")
        assert shared.step(f"{name}.2", SWITCH, what="beat", forget=[f"{name}.1"], adopt=adopted) == []
    assert shared.remembered() == {"a.2", "b.2"}
    assert shared.totals() == COUNTS
    [(choice, _)] = shared.step("a.2", SPILL, wishes=[(7, Wish(waited=1))]) or []
    assert getattr(choice, "role", None) == "baseline"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("s", "9"),
        ("s", "-9"),
        ("s", "nan"),
        ("b", "x"),
        (f"s {S}", "1"),
        (f"s {S}", "x"),
        (f"s {S}", "1e1"),
        ("x", "1"),
    ],
)
def test_a_count_that_is_wrong(field: str, value: str, shared: Shared, client: "redis.Redis") -> None:
    """Until the next heartbeat of any gateway."""
    client.hset(f"{BASE}:counts", field, value)
    assert shared.step("b.1", SPILL, what="beat") == []
    assert shared.totals() == COUNTS


def test_the_clock_was_set_back(shared: Shared) -> None:
    """A gateway that died then is not waited for until the old time has come again."""
    shared.pass_time(-1000 * EXPIRY)
    shared.step("a.1", SPILL, what="beat")
    assert shared.totals() == COUNTS
    for _ in range(70):
        shared.pass_time(EXPIRY * 0.3)
        shared.step("a.1", SPILL, what="beat")
    assert shared.remembered() == {"a.1"}
    assert shared.totals() == {"s": 1, f"s {S}": 1}


def test_the_switch_does_not_wait_for_a_time_that_was(shared: Shared, client: "redis.Redis") -> None:
    shared.step("a.1", SWITCH, wishes=[(8, Wish())])
    assert client.hget(f"{BASE}:switch", "high") == "1"
    dwelling = Eyes(ThresholdPolicy(threshold=2, mode="switch", min_dwell=60.0), PLACES, SPILL.caps)
    shared.step("b.1", dwelling, release=[1, 2])
    shared.step("a.1", dwelling, release=[8])
    now, _ = client.time()
    since = client.hget(f"{BASE}:switch", "since")
    assert since is not None
    client.hset(f"{BASE}:switch", "since", str(1000 * (now + 10**6)))
    shared.step("a.1", dwelling)
    since = client.hget(f"{BASE}:switch", "since")
    assert since is not None
    assert int(since) < 1000 * (now + 60)


def test_what_is_learned_is_left_where_something_else_was(client: "redis.Redis") -> None:
    text = resources.files("gateway.load.shared").joinpath("exchange.lua").read_text()
    client.set(f"{BASE}:learned", "spoilt")
    for name in ("a", "b"):
        reply = client.eval(text, 1, f"{BASE}:learned", name, "what it learned", "60000")
    assert reply[1] == ["a"]


def test_no_key_is_kept_for_ever(client: "redis.Redis") -> None:
    """Not even of a gateway that is gone before its first heartbeat, when nobody comes after it."""
    made = Shared(client)
    made.enter("a.1")
    assert client.ttl(f"{BASE}:gateways") > 0
    made.step("a.1", SWITCH, what="beat")
    made.step("a.1", SPILL)
    made.step("a.1", SWITCH, wishes=[(1, Wish()), (2, Wish()), (3, Wish(waited=1))])
    assert {key for key in client.scan_iter("*") if client.ttl(key) < 0} == set()
