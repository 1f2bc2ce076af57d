"""A run's results as files: results.json, results.csv, and the lines of a table in text."""

from loadtest.records.files import BadResultsError, read, write
from loadtest.records.lines import line
from loadtest.records.model import ArmInfo, Look, Results

__all__ = ["ArmInfo", "BadResultsError", "Look", "Results", "line", "read", "write"]
