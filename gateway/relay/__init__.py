"""The data plane: from a client's request to an engine's answer, bytes through."""

from gateway.relay.budget import RetryBudget
from gateway.relay.connections import Connections
from gateway.relay.endpoints import is_relayed
from gateway.relay.handler import Relay, Settings
from gateway.relay.watchdog import Watchdog

__all__ = ["Connections", "Relay", "RetryBudget", "Settings", "Watchdog", "is_relayed"]
