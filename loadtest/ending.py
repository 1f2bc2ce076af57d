"""Ends a run when the last of its users has left: `--tasks`.

Locust itself goes on with no users until the time is over. Its count of users is no help here, since a master's is 0
until workers have reported.
"""

from typing import Any

import gevent
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from loadtest.users import user_left

LOOK_SECONDS = 0.2


class Ending:
    """Counts who leaves: on a worker for its master, elsewhere until as many have left as were to come."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._left = 0
        hooks = environment.events
        hooks.test_start.add_listener(self._begin)
        user_left.add_listener(self._count)
        if isinstance(environment.runner, WorkerRunner):
            hooks.report_to_master.add_listener(self._tell)
        if isinstance(environment.runner, MasterRunner):
            hooks.worker_report.add_listener(self._hear)

    def _begin(self, **_: Any) -> None:
        self._left = 0
        if not isinstance(self._environment.runner, WorkerRunner):
            gevent.spawn(self._watch)

    def _count(self, **_: Any) -> None:
        self._left += 1

    def _tell(self, data: dict[str, Any], **_: Any) -> None:
        data["users_left"], self._left = self._left, 0

    def _hear(self, data: dict[str, Any], **_: Any) -> None:
        self._left += data.get("users_left", 0)

    def _watch(self) -> None:
        runner, options = self._environment.runner, self._environment.parsed_options
        assert runner is not None
        assert options is not None
        while runner.user_count or not 0 < runner.target_user_count <= self._left:
            gevent.sleep(LOOK_SECONDS)
        # With a web interface only the test ends.
        (runner.quit if options.headless else runner.stop)()
