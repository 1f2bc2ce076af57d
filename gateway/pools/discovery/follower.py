"""Follows one query: list, watch, and list anew at intervals, whatever the API server does in between.

1. List: the view is what is listed. At the start, `resync_seconds` after the last one, after 410 Gone, and after what
   can't be understood.
2. Watch from the version of the list until it is time to list again. A watch that ends early is resumed from the last
   version seen.
3. After a failure: pause, longer each time until that goes well again, then go on with 1 or 2. The view stays as it
   is. Between lists that fail, such as those of a busy server, watch on.

A watch that has silently died, or that left something out, is thus healed by the next list.
"""

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from gateway.config import Kubernetes
from gateway.pools.discovery.api import Api, ApiError, Bookmark, Drop, Event, Put, Trouble
from gateway.pools.discovery.backoff import Backoff
from gateway.pools.discovery.complaints import Complaints
from gateway.pools.discovery.slices import Reading
from gateway.pools.discovery.view import View
from gateway.pools.observed import Observed

_log = logging.getLogger(__name__)
# Lists of many gateways shall not coincide.
_SPREAD = 0.1


class Report(NamedTuple):
    """What was seen and when (monotonic seconds): a whole view, a change, or None for no change."""

    observed: Observed | None
    at: float


class Follower:
    """One thread's work, from `run` until `stop` is set. `name` is the pool's, for the log."""

    def __init__(
        self,
        name: str,
        api: Api,
        settings: Kubernetes,
        report: Callable[[Report | Trouble], None],
        stop: threading.Event,
    ) -> None:
        """`report` is called in the thread that runs."""
        self._name = name
        self._api = api
        self._settings = settings
        self._report = report
        self._stop = stop
        self._view = View(Reading.of(settings))
        self._version: str | None = None
        self._list_at = 0.0
        self._list_backoff = Backoff(settings.backoff_max_seconds, random.random)
        self._watch_backoff = Backoff(settings.backoff_max_seconds, random.random)
        self._complaints = Complaints(name)
        self._problems: tuple[str, ...] = ()

    def run(self) -> None:
        """Follow until told to stop."""
        while not self._stop.is_set():
            try:
                if self._version is None or time.monotonic() >= self._list_at:
                    self._try_list()
                if self._version is not None and not self._stop.is_set():
                    self._watch(self._version)
            except ApiError as error:
                self._failed(error, "watch")
                self._stop.wait(self._watch_backoff.pause(error.retry_after))
            except Exception as error:
                _log.exception("%s: discovery", self._name)
                self._failed(ApiError(Trouble.INTERNAL, repr(error)), "watch")
                self._stop.wait(self._watch_backoff.pause())

    def _watch(self, version: str) -> None:
        heard = False
        for event in self._api.watch(version, self._list_at):
            if self._stop.is_set():
                return
            self._take(event)
            heard = True
        if time.monotonic() < self._list_at:
            # The server may end a watch whenever it likes; one that always does so at once is out of order.
            if heard:
                self._watch_backoff.reset()
            raise ApiError(Trouble.CLOSED, "the server ended the watch early")
        self._watch_backoff.reset()
        self._complaints.well("watch")

    def _try_list(self) -> None:
        try:
            self._list()
        except ApiError as error:
            self._failed(error, "list")
            pause = self._list_backoff.pause(error.retry_after)
            self._list_at = time.monotonic() + pause
            if self._version is None:
                self._stop.wait(pause)
        else:
            self._list_backoff.reset()
            self._complaints.well("list")

    def _list(self) -> None:
        first = self._version is None
        started = time.monotonic()
        listing = self._api.list()
        self._list_at = started + self._settings.resync_seconds * random.uniform(1 - _SPREAD, 1)
        self._version = listing.version
        self._view.replace(listing.slices)
        self._report(Report(self._view.urls, time.monotonic()))
        self._tell_problems()
        if first:
            count, slices = len(self._view.urls), self._view.slices
            _log.info("%s: %d endpoints in %d %s", self._name, count, slices, self._api.query)

    def _take(self, event: Event) -> None:
        match event:
            case Put(version, piece):
                observed: Observed | None = self._view.put(piece)
            case Drop(version, name):
                observed = self._view.drop(name)
            case Bookmark(version):
                observed = None
        self._version = version
        self._report(Report(observed, time.monotonic()))
        self._complaints.well("watch")
        self._tell_problems()

    def _failed(self, error: ApiError, kind: str) -> None:
        if self._stop.is_set():
            return
        if error.trouble in (Trouble.EXPIRED, Trouble.GARBLED, Trouble.INTERNAL):
            self._version = None
        if error.trouble is Trouble.UNAUTHORIZED:
            self._api.forget_credentials()
        if error.trouble is not Trouble.CLOSED:
            self._report(error.trouble)
            self._complaints.failed(kind, str(error), len(self._view.urls))

    def _tell_problems(self) -> None:
        problems = self._view.problems
        for problem in problems:
            if problem not in self._problems:
                _log.warning("%s: %s", self._name, problem)
        self._problems = problems
