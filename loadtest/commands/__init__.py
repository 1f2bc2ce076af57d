"""What the command lines do, once their options are parsed."""

from loadtest.commands.server import Server, server
from loadtest.commands.sweeping import Measurement, measure, rejudge, summary, with_neighbourhood

__all__ = ["Measurement", "Server", "measure", "rejudge", "server", "summary", "with_neighbourhood"]
