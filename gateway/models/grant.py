"""What a request gets that may go ahead."""

from typing import NamedTuple

from gateway.load import Lease
from gateway.models.stay import Stay
from gateway.pools import Pool, Replica
from gateway.routing import Reason


class Grant(NamedTuple):
    """A place on a replica, and why there. Whoever holds it releases the lease. `stay`: where the policy learns."""

    lease: Lease
    pool: Pool
    replica: Replica
    reason: Reason
    stay: Stay | None = None
