"""What differs between engines."""

from gateway.engines.kinds import health_path

__all__ = ["health_path"]
