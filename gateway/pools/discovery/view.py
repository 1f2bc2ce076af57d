"""The base URLs that a set of EndpointSlices amounts to, kept up to date slice by slice. No I/O, no clock.

- An endpoint listed in several slices, such as while it moves from one to another, is one replica; it takes requests
  only if all of them say so.
- A pod with addresses of both families, which are in different slices, is one replica, at its IPv4 address.

What a change costs depends on the size of its slice (at most 1,000 endpoints, by default 100), not on the others.
"""

from collections.abc import Iterable, Mapping

from gateway.pools.discovery.slices import EndpointSlice, Entry, Reading, read
from gateway.pools.observed import Delta


class View:
    """Slices by name, and the URLs observed in them."""

    def __init__(self, reading: Reading) -> None:
        """Start with no slice."""
        self._reading = reading
        self._slices: dict[str, tuple[Entry, ...]] = {}
        self._versions: dict[str, str] = {}
        self._pods: dict[str, dict[str, tuple[Entry, ...]]] = {}
        self._urls: dict[str, int] = {}
        self._problems: dict[str, str] = {}

    @property
    def urls(self) -> tuple[str, ...]:
        """Every replica's base URL, sorted."""
        return tuple(sorted(self._urls))

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the endpoints of some slices can't be used, in words."""
        return tuple(self._problems.values())

    @property
    def slices(self) -> int:
        """How many slices there are."""
        return len(self._slices)

    def replace(self, pieces: Iterable[EndpointSlice]) -> Delta:
        """There are these slices and no others."""
        listed = {piece.metadata.name: piece for piece in pieces}
        fresh = {name: piece for name, piece in listed.items() if not self._knows(piece)}
        gone: dict[str, EndpointSlice | None] = {name: None for name in self._slices if name not in listed}
        return self._change(gone | fresh)

    def put(self, piece: EndpointSlice) -> Delta:
        """A slice was added or has changed."""
        return self._change({piece.metadata.name: piece})

    def drop(self, name: str) -> Delta:
        """A slice was deleted."""
        return self._change({name: None})

    def _knows(self, piece: EndpointSlice) -> bool:
        version = piece.metadata.resource_version
        return bool(version) and self._versions.get(piece.metadata.name) == version

    def _change(self, pieces: Mapping[str, EndpointSlice | None]) -> Delta:
        """Put these in the place of those known by their names; None takes one away."""
        news = {name: self._note(name, piece) for name, piece in pieces.items()}
        touched: set[str] = set()
        for name, entries in news.items():
            touched.update(entry.pod for entry in {*entries} ^ {*self._slices.get(name, ())})
        lost = self._withdraw(touched)
        for name, entries in news.items():
            self._store(name, entries, touched)
            if pieces[name] is None:
                del self._slices[name]
        won = self._enter(touched)
        return Delta(tuple(sorted(won - lost)), tuple(sorted(lost - won)))

    def _note(self, name: str, piece: EndpointSlice | None) -> tuple[Entry, ...]:
        self._problems.pop(name, None)
        if piece is None:
            self._versions.pop(name, None)
            return ()
        self._versions[name] = piece.metadata.resource_version
        entries, problem = read(piece, self._reading)
        if problem:
            self._problems[name] = problem
        return entries

    def _store(self, name: str, entries: tuple[Entry, ...], touched: set[str]) -> None:
        for entry in self._slices.get(name, ()):
            if entry.pod in touched:
                self._pods[entry.pod].pop(name, None)
        for entry in entries:
            if entry.pod in touched:
                within = self._pods.setdefault(entry.pod, {})
                within[name] = (*within.get(name, ()), entry)
        self._slices[name] = entries

    def _urls_of(self, pod: str) -> set[str]:
        """Where the pod takes requests: at the addresses of its first family that no slice speaks against."""
        entries = [entry for within in self._pods.get(pod, {}).values() for entry in within]
        if not entries:
            self._pods.pop(pod, None)
            return set()
        family = min(entry.family for entry in entries)
        mine = [entry for entry in entries if entry.family == family]
        return {entry.url for entry in mine} - {entry.url for entry in mine if not entry.usable}

    def _withdraw(self, pods: Iterable[str]) -> set[str]:
        """Take back what these pods stand for; the URLs that nobody stands for any more."""
        lost: set[str] = set()
        for pod in pods:
            for url in self._urls_of(pod):
                self._urls[url] -= 1
                if not self._urls[url]:
                    del self._urls[url]
                    lost.add(url)
        return lost

    def _enter(self, pods: Iterable[str]) -> set[str]:
        """Let these pods stand for their URLs; those that nobody stood for. An address that is handed on has two."""
        won: set[str] = set()
        for pod in pods:
            for url in self._urls_of(pod):
                if url not in self._urls:
                    won.add(url)
                self._urls[url] = self._urls.get(url, 0) + 1
        return won
