"""Pools, their replicas and their health."""

from gateway.pools.health import Health
from gateway.pools.pool import Pool, Supervisor
from gateway.pools.replica import Replica, State, Upstream

__all__ = ["Health", "Pool", "Replica", "State", "Supervisor", "Upstream"]
