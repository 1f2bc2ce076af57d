"""What Redis or the system said of a failure, with the address, and what to set."""

from gateway.config import Redis
from gateway.load.shared.where import addresses

_REFUSALS = ("NOAUTH", "WRONGPASS", "Authentication required", "invalid username-password", "invalid password")


def explained(error: str, settings: Redis) -> str:
    """For people, in one line."""
    hosts = ", ".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in addresses(settings))
    place = {"single": "", "sentinel": "sentinels ", "cluster": "cluster "}[settings.mode] + hosts
    if not any(refusal in error for refusal in _REFUSALS):
        return f"{place}: {error}"
    fields = "redis.password, and redis.username for an ACL user"
    if settings.mode == "sentinel":
        fields += "; redis.sentinel_password at the Sentinels"
    return f"{place}: {error}: set {fields}"
