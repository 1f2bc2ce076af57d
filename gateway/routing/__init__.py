"""Policies: pure functions of a load snapshot. Imports nothing of ours."""

from gateway.routing.adaptive import AdaptiveSettings, AdaptiveState, Arrival, Decision, decide
from gateway.routing.balance import balanced, digest, least_inflight
from gateway.routing.curve import NEVER, UNKNOWN, Curve, gains
from gateway.routing.grid import NODES
from gateway.routing.isotone import isotone
from gateway.routing.placement import fail_over, pin, prefer
from gateway.routing.threshold import SwitchSettings, SwitchState, arrive, limit, settle, spill, switch
from gateway.routing.types import ROLES, Choice, Mode, ModelLoad, Placement, PoolLoad, Reason, Refusal, Role, other

__all__ = [
    "NEVER",
    "NODES",
    "ROLES",
    "UNKNOWN",
    "AdaptiveSettings",
    "AdaptiveState",
    "Arrival",
    "Choice",
    "Curve",
    "Decision",
    "Mode",
    "ModelLoad",
    "Placement",
    "PoolLoad",
    "Reason",
    "Refusal",
    "Role",
    "SwitchSettings",
    "SwitchState",
    "arrive",
    "balanced",
    "decide",
    "digest",
    "fail_over",
    "gains",
    "isotone",
    "least_inflight",
    "limit",
    "other",
    "pin",
    "prefer",
    "settle",
    "spill",
    "switch",
]
