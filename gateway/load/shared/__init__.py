"""In-flight counts that several gateways share through Redis, and what else they tell each other there."""

from gateway.load.shared.counts import SharedCounts, gateway_id
from gateway.load.shared.exchange import Correspondent, Exchange, Note
from gateway.load.shared.link import Link
from gateway.load.shared.parties import Ask, Owner
from gateway.load.shared.step import POLL_SECONDS, Terms, View, member
from gateway.load.shared.timer import Timer

__all__ = [
    "POLL_SECONDS",
    "Ask",
    "Correspondent",
    "Exchange",
    "Link",
    "Note",
    "Owner",
    "SharedCounts",
    "Terms",
    "Timer",
    "View",
    "gateway_id",
    "member",
]
