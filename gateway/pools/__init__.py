"""Pools, their replicas and their health."""

from gateway.pools.health import Health
from gateway.pools.pool import Pool, Supervisor
from gateway.pools.prober import Prober
from gateway.pools.replica import Replica, State

__all__ = ["Health", "Pool", "Prober", "Replica", "State", "Supervisor"]
