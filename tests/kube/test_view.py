"""What a set of EndpointSlices amounts to."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.pools.discovery.slices import Reading, read
from gateway.pools.discovery.view import View
from gateway.pools.observed import Delta
from tests.kube.shapes import Object, decoded, endpoint, endpoint_slice, terminating

PLAIN = Reading()
HTTP = {"name": "http", "port": 30000, "protocol": "TCP"}
METRICS = {"name": "metrics", "port": 9400, "protocol": "TCP"}


def urls(*pieces: Object, reading: Reading = PLAIN) -> list[str]:
    view = View(reading)
    view.replace(map(decoded, pieces))
    return list(view.urls)


def problems(*pieces: Object, reading: Reading = PLAIN) -> list[str]:
    view = View(reading)
    view.replace(map(decoded, pieces))
    return list(view.problems)


# Conditions of an endpoint, and whether it takes requests.
CONDITIONS: dict[str, tuple[dict[str, bool | None], bool]] = {
    "ready": ({"ready": True, "serving": True, "terminating": False}, True),
    "unready": ({"ready": False, "serving": False, "terminating": False}, False),
    "terminating, still serving": ({"ready": False, "serving": True, "terminating": True}, False),
    "unready, published all the same": ({"ready": True, "serving": False, "terminating": False}, True),
    "terminating, published all the same": ({"ready": True, "serving": True, "terminating": True}, False),
    "nothing known": ({"ready": None, "serving": None, "terminating": None}, True),
    "ready unknown": ({"ready": None, "serving": False, "terminating": None}, True),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name: str) -> None:
    conditions, usable = CONDITIONS[name]
    assert bool(urls(endpoint_slice("a", [endpoint("10.0.0.1", None, **conditions)]))) == usable


def test_conditions_left_out() -> None:
    assert urls(endpoint_slice("a", [{"addresses": ["10.0.0.1"]}])) == ["http://10.0.0.1:30000"]
    assert urls(endpoint_slice("a", [{"addresses": ["10.0.0.1"], "conditions": {}}])) == ["http://10.0.0.1:30000"]


def test_a_slice_without_endpoints() -> None:
    assert urls(endpoint_slice("a", None), endpoint_slice("b", [], ports=None)) == []
    assert problems(endpoint_slice("a", None, ports=None)) == []


# The slice's ports, the port wanted, and the port found or what is said.
PORTS: dict[str, tuple[list[Object] | None, str | None, int | str]] = {
    "the only one": ([HTTP], None, 30000),
    "the only one, without a name": ([{"name": "", "port": 8000}], None, 8000),
    "by name": ([METRICS, HTTP], "http", 30000),
    "by number": ([METRICS, HTTP], "9400", 9400),
    "by number, where the slice lists none": (None, "9400", 9400),
    "the only one over TCP": ([{"name": "quic", "port": 443, "protocol": "UDP"}, HTTP], None, 30000),
    "one of several": ([METRICS, HTTP], None, "lists metrics=9400, http=30000: say which with discovery.kubernetes."),
    "another name": ([HTTP], "grpc", "EndpointSlice a lists http=30000, not grpc: discovery.kubernetes.port is the"),
    "the Service's port": ([HTTP], "80", "lists http=30000, not 80: discovery.kubernetes.port is the pods' port"),
    "a name, where the slice lists none": (None, "http", "lists no port, not http"),
    "none": (None, None, "lists no port: say which"),
    "any": ([{"name": "", "port": None}], None, "lists no port: say which"),
}


@pytest.mark.parametrize("name", PORTS)
def test_ports(name: str) -> None:
    ports, wanted, found = PORTS[name]
    piece = endpoint_slice("a", [endpoint("10.0.0.1")], ports=ports)
    if isinstance(found, int):
        assert urls(piece, reading=Reading(wanted)) == [f"http://10.0.0.1:{found}"]
        assert problems(piece, reading=Reading(wanted)) == []
    else:
        assert urls(piece, reading=Reading(wanted)) == []
        [problem] = problems(piece, reading=Reading(wanted))
        assert found in problem


def test_a_named_port_differs_from_slice_to_slice() -> None:
    """Pods of two generations may give one name to two numbers."""
    old, new = ({"name": "http", "port": number} for number in (8000, 9000))
    pieces = (
        endpoint_slice("a", [endpoint("10.0.0.1")], ports=[old]),
        endpoint_slice("b", [endpoint("10.0.0.2")], ports=[new]),
    )
    assert urls(*pieces, reading=Reading("http")) == ["http://10.0.0.1:8000", "http://10.0.0.2:9000"]


def test_urls() -> None:
    addresses = [endpoint("10.0.0.1")], [endpoint("2001:db8::1")], [endpoint("engine-0.example")]
    pieces = [
        endpoint_slice(family, listed, family=family)
        for family, listed in zip(("IPv4", "IPv6", "FQDN"), addresses, strict=True)
    ]
    assert urls(*pieces, reading=Reading("http", "https", "/engine")) == [
        "https://10.0.0.1:30000/engine",
        "https://[2001:db8::1]:30000/engine",
        "https://engine-0.example:30000/engine",
    ]


def test_of_several_addresses_the_first() -> None:
    assert urls(endpoint_slice("a", [{"addresses": ["10.0.0.1", "10.0.0.2"]}])) == ["http://10.0.0.1:30000"]
    assert urls(endpoint_slice("a", [{"addresses": []}])) == []


class TestDualStack:
    FOUR, SIX = "10.0.0.1", "2001:db8::1"

    def both(self, four: Object | None, six: Object | None) -> list[str]:
        return urls(
            endpoint_slice("six", [six] if six else [], family="IPv6"),
            endpoint_slice("four", [four] if four else [], family="IPv4"),
        )

    def test_one_pod_is_one_replica(self) -> None:
        assert self.both(endpoint(self.FOUR, "p"), endpoint(self.SIX, "p")) == ["http://10.0.0.1:30000"]

    def test_a_pod_with_one_family(self) -> None:
        assert self.both(None, endpoint(self.SIX, "p")) == ["http://[2001:db8::1]:30000"]

    def test_the_other_address_is_no_way_round_a_termination(self) -> None:
        assert self.both(terminating(self.FOUR, "p"), endpoint(self.SIX, "p")) == []

    def test_different_pods_are_different_replicas(self) -> None:
        assert len(self.both(endpoint(self.FOUR, "p"), endpoint(self.SIX, "q"))) == 2

    def test_pods_without_a_name_are_known_by_address(self) -> None:
        assert len(self.both(endpoint(self.FOUR), endpoint(self.SIX))) == 2


def test_an_endpoint_in_two_slices_is_one_replica() -> None:
    pieces = [endpoint_slice(name, [endpoint("10.0.0.1", "p")]) for name in "ab"]
    assert urls(*pieces) == ["http://10.0.0.1:30000"]


def test_an_endpoint_in_two_slices_takes_requests_if_both_say_so() -> None:
    first, second = (
        endpoint_slice("a", [endpoint("10.0.0.1", "p")]),
        endpoint_slice("b", [terminating("10.0.0.1", "p")]),
    )
    assert urls(first, second) == []


def test_an_address_handed_on_to_another_pod() -> None:
    old, new = endpoint_slice("a", [terminating("10.0.0.1", "p")]), endpoint_slice("b", [endpoint("10.0.0.1", "q")])
    assert urls(old, new) == ["http://10.0.0.1:30000"]


def test_a_move_between_slices_is_no_change() -> None:
    view = View(Reading())
    one, two = endpoint("10.0.0.1", "p"), endpoint("10.0.0.2", "q")
    assert view.put(decoded(endpoint_slice("a", [one, two]))).joined == (
        "http://10.0.0.1:30000",
        "http://10.0.0.2:30000",
    )
    assert view.put(decoded(endpoint_slice("b", [two]))) == Delta()
    assert view.put(decoded(endpoint_slice("a", [one]))) == Delta()
    assert view.drop("a") == Delta(left=("http://10.0.0.1:30000",))
    assert view.replace([decoded(endpoint_slice("c", [two]))]) == Delta()


def test_a_deletion_of_what_is_not_known() -> None:
    view = View(Reading())
    assert view.drop("a") == Delta()
    assert view.slices == 0


def test_an_unchanged_version_is_not_read_again() -> None:
    view = View(Reading())
    view.replace([decoded(endpoint_slice("a", [endpoint("10.0.0.1")]), version="7")])
    assert view.replace([decoded(endpoint_slice("a", [endpoint("10.0.0.2")]), version="7")]) == Delta()
    assert view.replace([decoded(endpoint_slice("a", [endpoint("10.0.0.2")]), version="8")]).joined


PODS = [f"pod-{number}" for number in range(4)]
addresses = st.integers(1, 5)


@st.composite
def endpoints(draw: st.DrawFn, family: str) -> Object:
    number = draw(addresses)
    address = f"10.0.0.{number}" if family == "IPv4" else f"2001:db8::{number}"
    conditions = {name: draw(st.none() | st.booleans()) for name in ("ready", "serving", "terminating")}
    return endpoint(address, draw(st.none() | st.sampled_from(PODS)), **conditions)


@st.composite
def pieces(draw: st.DrawFn) -> Object:
    family = draw(st.sampled_from(["IPv4", "IPv6"]))
    listed = draw(st.lists(endpoints(family), max_size=4))
    ports = draw(st.sampled_from([[HTTP], [HTTP, METRICS], [METRICS], None]))
    return endpoint_slice(draw(st.sampled_from("abcd")), listed, family=family, ports=ports)


def truth(slices: Iterable[Object], reading: Reading) -> set[str]:
    """The definition, spelt out: of each pod's entries those of its best family; of those, the URLs all speak for."""
    entries = {entry for piece in slices for entry in read(decoded(piece), reading).entries}
    found: set[str] = set()
    for pod in {entry.pod for entry in entries}:
        mine = [entry for entry in entries if entry.pod == pod]
        best = [entry for entry in mine if entry.family == min(other.family for other in mine)]
        found |= {entry.url for entry in best} - {entry.url for entry in best if not entry.usable}
    return found


@given(st.lists(st.one_of(pieces(), st.sampled_from("abcd"), st.lists(pieces(), max_size=4)), max_size=12))
def test_any_sequence_of_changes(changes: list[Object | str | list[Object]]) -> None:
    """Slice by slice, deletions and whole lists: the URLs are those of the slices, and deltas add up to them."""
    reading = Reading("http")
    view, slices, summed = View(reading), dict[str, Object](), set[str]()
    for change in changes:
        if isinstance(change, str):
            slices.pop(change, None)
            delta = view.drop(change)
        elif isinstance(change, list):
            slices = named(change)
            delta = view.replace(map(decoded, slices.values()))
        else:
            slices |= named([change])
            delta = view.put(decoded(change))
        assert summed.isdisjoint(delta.joined)
        assert summed.issuperset(delta.left)
        summed = (summed | {*delta.joined}) - {*delta.left}
        assert summed == {*view.urls} == truth(slices.values(), reading)
        assert view.slices == len(slices)


def named(listed: Iterable[Object]) -> dict[str, Object]:
    return {piece["metadata"]["name"]: piece for piece in listed}
