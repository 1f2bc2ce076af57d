"""The live page at /ui, and the stream of events that moves it."""

from gateway.ui.live import Live
from gateway.ui.routes import add_ui

__all__ = ["Live", "add_ui"]
