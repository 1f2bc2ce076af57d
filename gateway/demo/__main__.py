"""`python -m gateway.demo` is `spillway demo`."""

import argparse
import sys

from gateway import demo

parser = argparse.ArgumentParser(prog="python -m gateway.demo", description=demo.__doc__)
demo.add_arguments(parser)
sys.exit(demo.run(parser.parse_args()))
