"""What differs between engines."""

from gateway.engines.kinds import health_path
from gateway.engines.load import Reading, UnreadableError, load_advice, load_paths, read_load

__all__ = ["Reading", "UnreadableError", "health_path", "load_advice", "load_paths", "read_load"]
