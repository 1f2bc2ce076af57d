"""A run's results as files: results.json, results.csv, and the lines of a table in text."""

from loadtest.results.files import BadResultsError, read, write
from loadtest.results.lines import line
from loadtest.results.model import ArmInfo, Look, Results

__all__ = ["ArmInfo", "BadResultsError", "Look", "Results", "line", "read", "write"]
