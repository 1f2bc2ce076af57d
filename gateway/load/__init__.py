"""In-flight load: leases, and the queue for those that can't have one yet."""

from gateway.load.leases import Lease
from gateway.load.queue import QueueFullError, Ticket, WaitQueue

__all__ = ["Lease", "QueueFullError", "Ticket", "WaitQueue"]
