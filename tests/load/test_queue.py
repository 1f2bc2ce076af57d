"""The waiting line by itself: lanes, bounds, leaving, and grants given back."""

from collections.abc import Callable, Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.load import QueueFullError, Ticket, WaitQueue


class Rooms:
    """Places by lane, and who was granted one, in order."""

    def __init__(self, size: int = 10) -> None:
        self.queue: WaitQueue[str] = WaitQueue(size)
        self.free: dict[Hashable, int] = {}
        self.woken: list[str] = []
        self.asked: list[str] = []

    def join(self, name: str, lane: Hashable = None) -> Ticket[str]:
        def try_grant() -> str | None:
            self.asked.append(name)
            if not self.free.get(lane, 0):
                return None
            self.free[lane] -= 1
            return name

        return self.queue.join(lane, try_grant, self._wake(name))

    def open(self, lane: Hashable = None, places: int = 1) -> None:
        self.free[lane] = self.free.get(lane, 0) + places
        self.queue.serve()

    def _wake(self, name: str) -> Callable[[], None]:
        return lambda: self.woken.append(name)


def test_first_come_first_served() -> None:
    rooms = Rooms()
    tickets = [rooms.join(name) for name in "abc"]
    rooms.open(places=2)
    assert rooms.woken == ["a", "b"]
    assert [ticket.grant for ticket in tickets] == ["a", "b", None]
    assert len(rooms.queue) == 1


def test_a_lane_stops_at_its_first_refusal() -> None:
    """Asking the others would be in vain, and would let them overtake."""
    rooms = Rooms()
    for name in "abc":
        rooms.join(name)
    rooms.queue.serve()
    assert rooms.asked == ["a"]


def test_lanes_do_not_hold_each_other_up() -> None:
    rooms = Rooms()
    rooms.join("a", "speculative")
    rooms.join("b", None)
    rooms.join("c", "speculative")
    rooms.open(None)
    assert rooms.woken == ["b"]
    assert rooms.queue.blocks("speculative")
    assert not rooms.queue.blocks(None)
    rooms.open("speculative", 2)
    assert rooms.woken == ["b", "a", "c"]


@pytest.mark.parametrize("size", [0, 1, 3])
def test_it_is_bounded(size: int) -> None:
    rooms = Rooms(size)
    for number in range(size):
        rooms.join(str(number))
    with pytest.raises(QueueFullError):
        rooms.join("one more")
    assert len(rooms.queue) == size
    rooms.open()
    if size:
        rooms.join("now there is a place")


def test_who_leaves_is_passed_over() -> None:
    rooms = Rooms()
    first, _ = rooms.join("a"), rooms.join("b")
    assert first.leave() is None
    rooms.open()
    assert rooms.woken == ["b"]
    assert first.leave() is None


def test_who_leaves_with_a_grant_gets_it() -> None:
    """A cancelled request may have been granted a place in the same instant; it is the one to give it back."""
    rooms = Rooms()
    ticket = rooms.join("a")
    rooms.open()
    assert ticket.leave() == "a"
    assert len(rooms.queue) == 0


def test_leaving_while_the_queue_is_served() -> None:
    rooms = Rooms()
    tickets: list[Ticket[str]] = []

    def push_out_the_second() -> str | None:
        tickets[1].leave()
        return "a"

    tickets.append(rooms.queue.join(None, push_out_the_second, lambda: rooms.woken.append("a")))
    tickets.append(rooms.join("b"))
    rooms.open(places=5)
    assert rooms.woken == ["a"]
    assert tickets[1].grant is None


def test_serving_within_serving_does_nothing() -> None:
    rooms = Rooms()

    def serve_again() -> str | None:
        rooms.queue.serve()
        return "a"

    rooms.queue.join(None, serve_again, lambda: rooms.woken.append("a"))
    rooms.join("b")
    rooms.queue.serve()
    assert rooms.woken == ["a"]
    rooms.open()
    assert rooms.woken == ["a", "b"]


def test_a_failing_grant_does_not_close_the_queue() -> None:
    rooms = Rooms()

    def fail() -> str | None:
        raise ZeroDivisionError

    bad = rooms.queue.join("x", fail, lambda: None)
    rooms.join("a")
    with pytest.raises(ZeroDivisionError):
        rooms.queue.serve()
    bad.leave()
    rooms.open()
    assert rooms.woken == ["a"]


def test_all_are_sent_away() -> None:
    rooms = Rooms()
    tickets = [rooms.join(name) for name in "abc"]
    tickets[1].leave()
    rooms.queue.refuse()
    assert rooms.woken == ["a", "c"]
    assert [ticket.refused for ticket in tickets] == [True, False, True]
    rooms.open(places=3)
    assert rooms.woken == ["a", "c"]
    assert tickets[0].leave() is None


names = st.sampled_from("xyz")


@given(st.lists(st.tuples(st.sampled_from(["join", "open", "leave"]), names, st.integers(0, 9)), max_size=60))
def test_nobody_waits_in_vain(steps: list[tuple[str, str, int]]) -> None:
    """After any step a lane has people waiting or places free, not both; grants keep the order of each lane."""
    rooms = Rooms(size=6)
    joined: dict[str, list[str]] = {"x": [], "y": [], "z": []}
    waiting: list[tuple[str, str, Ticket[str]]] = []
    for number, (step, lane, pick) in enumerate(steps):
        if step == "join" and len(rooms.queue) < 6:
            name = f"{lane}{number}"
            joined[lane].append(name)
            waiting.append((lane, name, rooms.join(name, lane)))
            rooms.queue.serve()
        elif step == "open":
            rooms.open(lane, pick)
        elif step == "leave" and waiting:
            left_lane, left, ticket = waiting.pop(pick % len(waiting))
            if ticket.leave() is None:
                joined[left_lane].remove(left)
        waiting = [entry for entry in waiting if entry[2].grant is None]
        assert len(rooms.queue) == len(waiting) <= 6
        for each in joined:
            line = [name for name in rooms.woken if name.startswith(each)]
            assert joined[each][: len(line)] == line
            assert rooms.free.get(each, 0) == 0 or not rooms.queue.blocks(each)
