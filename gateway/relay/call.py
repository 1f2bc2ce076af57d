"""One client request on its way: what was read of it, and its record."""

from dataclasses import dataclass

from gateway.models import Model
from gateway.relay.client import Client, Message
from gateway.relay.endpoints import Endpoint
from gateway.relay.inspect import Traits
from gateway.routing import Role
from gateway.telemetry import Record


@dataclass(slots=True)
class Call:
    """What every attempt needs."""

    scope: Message
    headers: dict[bytes, bytes]
    endpoint: Endpoint
    client: Client
    record: Record
    model: Model
    traits: Traits
    body: bytes
    pinned: Role | None
    request_id: bytes
    trace: bytes

    @property
    def asks_usage(self) -> bool:
        """Whether we ask for the usage event on our own account, and so have to hide it."""
        return self.endpoint.asks_usage and self.traits.stream and self.traits.may_ask_usage
