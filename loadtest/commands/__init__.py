"""What the command lines do, once their options are parsed."""

from loadtest.commands.planning import sweep_plan
from loadtest.commands.server import Server, server
from loadtest.commands.sweeping import Measurement, measure, rejudge, summary

__all__ = ["Measurement", "Server", "measure", "rejudge", "server", "summary", "sweep_plan"]
