"""Commands for Redis, as they go over the wire."""

from collections.abc import Callable
from typing import cast

import hiredis

Argument = str | int | float
Command = tuple[Argument, ...]
# Its stub says a tuple of one.
pack = cast("Callable[[Command], bytes]", hiredis.pack_command)


class Opening:
    """What many commands begin with, packed once."""

    __slots__ = ("_count", "_packed")

    def __init__(self, command: Command) -> None:
        """Of the arguments that stay the same."""
        self._count = len(command)
        self._packed = arguments(command)

    def then(self, rest: Command) -> bytes:
        """The whole command, ready to be sent."""
        return b"*%d\r\n%b%b" % (self._count + len(rest), self._packed, arguments(rest))


def arguments(command: Command) -> bytes:
    """As they are in a packed command, without their number."""
    packed = pack(command)
    return packed[packed.index(b"\n") + 1 :]
