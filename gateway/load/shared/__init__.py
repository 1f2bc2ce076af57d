"""In-flight counts that several gateways share through Redis."""

from gateway.load.shared.counts import SharedCounts, gateway_id
from gateway.load.shared.link import Link
from gateway.load.shared.parties import Ask, Owner
from gateway.load.shared.step import Terms, View, member
from gateway.load.shared.timer import Timer

__all__ = ["Ask", "Link", "Owner", "SharedCounts", "Terms", "Timer", "View", "gateway_id", "member"]
