"""A run's results as files: results.json, results.csv, and the lines of a table in text."""

from loadtest.records.files import BadResultsError, read, write
from loadtest.records.lines import line
from loadtest.records.model import LOCUST, ArmInfo, Look, Results

__all__ = ["LOCUST", "ArmInfo", "BadResultsError", "Look", "Results", "line", "read", "write"]
