"""`python -m spillway_engine`."""

import sys

from spillway_engine.cli import main

sys.exit(main())
