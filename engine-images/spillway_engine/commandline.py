"""What every command line of the project has in common. It is here because the engines' image has none of the rest."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

READER_GONE = 141
"""128 + SIGPIPE: what shells say of a program that writing into a closed pipe has ended."""


class Parser(argparse.ArgumentParser):
    """Refuses what it does not know with the usage of the command that it was given to, not with that of the root."""

    passes_on = False
    """Whether what it does not know is left to the caller."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """See `argparse.ArgumentParser`, which parses a subcommand's arguments with this too."""
        known, rest = super().parse_known_args(args, namespace)
        if rest and not self.passes_on:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return known, rest


def until_unread(command: Callable[[], int]) -> int:
    """Runs a command and returns its exit status, or `READER_GONE` when nobody reads its output any longer (`| head`).

    What is buffered is written here, since Python would complain of what it can't write at exit.
    """
    try:
        try:
            return command()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return READER_GONE
