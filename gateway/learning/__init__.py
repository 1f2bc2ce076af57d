"""Learning how fast each pool is, from the requests that it has served. Pure: no clock, no sockets."""

from gateway.learning.learning import Learning, LearningSettings, exact_curve
from gateway.learning.observation import Observation
from gateway.learning.report import Report
from gateway.learning.sharing import Shares

__all__ = ["Learning", "LearningSettings", "Observation", "Report", "Shares", "exact_curve"]
