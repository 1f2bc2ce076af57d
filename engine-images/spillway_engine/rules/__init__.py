"""What would be refused, wrong, or silently without effect: found before the engine loads for minutes."""

from spillway_engine.rules.examination import examine
from spillway_engine.rules.finding import Finding, Level

__all__ = ["Finding", "Level", "examine"]
