"""Labels that several metrics have."""

from gateway.routing import ROLES
from gateway.telemetry.families.family import Label, one_of

NONE = "none"
MODEL = Label("model")
POOL = one_of("pool", ROLES)
# A request that ends before it has a pool.
POOL_OR_NONE = one_of("pool", (*ROLES, NONE))
REPLICA = Label("replica")
WHERE = (MODEL, POOL)
# Of concurrency. Each ends at a power of two, so that finding it is one call.
BANDS = ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+")
