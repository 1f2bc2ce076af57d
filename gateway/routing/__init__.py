"""Policies: pure functions of a load snapshot. Imports nothing of ours."""

from gateway.routing.balance import balanced, digest, least_inflight
from gateway.routing.placement import fail_over, pin
from gateway.routing.threshold import SwitchSettings, SwitchState, arrive, limit, settle, spill, switch
from gateway.routing.types import ROLES, Choice, ModelLoad, Placement, PoolLoad, Reason, Refusal, Role, other

__all__ = [
    "ROLES",
    "Choice",
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
    "digest",
    "fail_over",
    "least_inflight",
    "limit",
    "other",
    "pin",
    "settle",
    "spill",
    "switch",
]
