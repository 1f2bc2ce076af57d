"""`python -m gateway.demo.child MODULE ARGS...` runs MODULE like `python -m`, while standard input stays open.

The parent holds the other end of that pipe, so the kernel closes it however the parent ends, SIGKILL included. A death
signal (PR_SET_PDEATHSIG) would do the same on Linux only, and fires when the starting thread ends, not the process.
"""

import os
import runpy
import signal
import sys
import threading
import time

GRACE_SECONDS = 10.0


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def main() -> None:
    """Runs the module that the command line names."""
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
