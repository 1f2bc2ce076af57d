"""Pools, their replicas and their health."""

from gateway.pools.engine_load import EngineLoad
from gateway.pools.health import Health
from gateway.pools.load_reader import LoadReaders, LoadTrouble
from gateway.pools.pool import Pool, Supervisor
from gateway.pools.prober import Prober
from gateway.pools.replica import Replica, State

__all__ = ["EngineLoad", "Health", "LoadReaders", "LoadTrouble", "Pool", "Prober", "Replica", "State", "Supervisor"]
