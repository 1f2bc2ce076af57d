"""What locust loads: `spillway-loadtest locust ...`, or `locust -f` with this file's path.

Without `--shape` it is locust as usual: `--users`, `--spawn-rate`, `--run-time`, and names of user classes.
"""

import os
from argparse import ArgumentParser
from typing import Any

import gevent
from locust import events
from locust.env import Environment
from locust.runners import WorkerRunner
from locust.stats import CSV_STATS_INTERVAL_SEC

from loadtest.ending import Ending
from loadtest.harvest import Harvest
from loadtest.prompts import DEFAULT_MIX
from loadtest.shapes import CURVES, Arrivals, Curve
from loadtest.users import ArrivalUser, CancellingUser, ChatUser, ConversationUser, LongPromptUser, ToolUser

__all__ = ["ArrivalUser", "CancellingUser", "ChatUser", "ConversationUser", "LongPromptUser", "ToolUser"]

POISSON = "poisson"


def add_options(parser: ArgumentParser) -> None:
    """Adds ours to locust's. Workers need the same ones as their master."""
    group = parser.add_argument_group("Spillway")
    group.add_argument("--model", default="", help="the model to ask for (default: the first that the server lists)")
    group.add_argument("--api-key", default=os.environ.get("SPILLWAY_API_KEY", ""), help="default: $SPILLWAY_API_KEY")
    group.add_argument("--pool", default="", help="pin all requests to this pool by header")
    group.add_argument("--max-tokens", type=int, default=512, help="of an answer")
    group.add_argument("--long-tokens", type=int, default=4000, help="median length of long prompts")
    group.add_argument("--mix", default=str(DEFAULT_MIX), help="of prompts")
    group.add_argument("--request-timeout", type=float, default=600.0, help="seconds")
    group.add_argument("--think", type=float, default=1.0, help="scale of the pauses between a user's tasks: 0 is none")
    group.add_argument(
        "--tasks", type=int, default=0, help="a user leaves after so many (0: never), and the run ends with the last"
    )
    group.add_argument("--out", default="", metavar="DIR", help="folder for results.json, results.csv and report.html")
    group.add_argument("--shape", choices=["", *CURVES, POISSON], default="", help="how the load goes over time")
    group.add_argument("--peak", type=int, default=20, help="users at the highest point of a shape")
    group.add_argument("--duration", type=float, default=300.0, help="seconds that a shape lasts")
    group.add_argument("--rate", type=float, default=1.0, help="poisson: requests a second")
    group.add_argument("--arrival-users", type=int, default=1, help="poisson: sources, such as one for each worker")


def choose_shape(environment: Environment, **_: Any) -> None:
    """Puts the shape in force, and the users that belong to it."""
    options: Any = environment.parsed_options
    if options.shape == POISSON:
        environment.user_classes = [ArrivalUser]
        environment.shape_class = Arrivals(options.arrival_users, options.duration)
    else:
        environment.user_classes = [kind for kind in environment.user_classes if kind is not ArrivalUser]
    if options.shape in CURVES:
        environment.shape_class = Curve(CURVES[options.shape], options.peak, options.duration)
    if environment.shape_class is not None:
        environment.shape_class.runner = environment.runner


def end_with_the_last_user(environment: Environment, **_: Any) -> None:
    """Lets `--tasks` end the run."""
    options: Any = environment.parsed_options
    if options.tasks:
        Ending(environment)


def keep_results(environment: Environment, **_: Any) -> None:
    """Lets `--out` write them. Workers have it from their master's command line, so all keep samples for it."""
    options: Any = environment.parsed_options
    if options.out or isinstance(environment.runner, WorkerRunner):
        Harvest(environment)


def complete_the_csv(environment: Environment, **_: Any) -> None:
    """Waits at the end until locust has written its CSV files once more: by itself it leaves out the last second."""
    options: Any = environment.parsed_options
    if options.csv_prefix:
        environment.events.quit.add_listener(lambda **_: gevent.sleep(CSV_STATS_INTERVAL_SEC + 0.2))


events.init_command_line_parser.add_listener(add_options)
events.init.add_listener(choose_shape)
events.init.add_listener(end_with_the_last_user)
events.init.add_listener(complete_the_csv)
events.init.add_listener(keep_results)
