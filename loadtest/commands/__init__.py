"""The subcommands: each adds its options to a parser and runs from what was parsed."""

from loadtest.commands.server import Server, add_server_options, server
from loadtest.commands.sweeping import Measurement, measure, summary

__all__ = ["Measurement", "Server", "add_server_options", "measure", "server", "summary"]
