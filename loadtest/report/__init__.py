"""The report: one HTML file that needs nothing beside it. Needs jinja2, and matplotlib for its plots."""

from loadtest.report.page import HTML, MissingLibraryError, write

__all__ = ["HTML", "MissingLibraryError", "write"]
