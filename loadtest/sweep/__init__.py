"""The sweep: a closed loop at each level of concurrency, for each arm in turn."""

from loadtest.sweep.arms import Arm, BadArmError, default_arms, parse_arm
from loadtest.sweep.plan import BadPlanError, Plan, neighbourhood, parse_levels
from loadtest.sweep.run import Sweep, SweepError
from loadtest.sweep.status import PoolLook, Status, StatusClient

__all__ = [
    "Arm",
    "BadArmError",
    "BadPlanError",
    "Plan",
    "PoolLook",
    "Status",
    "StatusClient",
    "Sweep",
    "SweepError",
    "default_arms",
    "neighbourhood",
    "parse_arm",
    "parse_levels",
]
