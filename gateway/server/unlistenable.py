"""Why an address can't be listened on, and what to set instead."""

import errno
import os
import socket

from gateway.config import Listen

_PRIVILEGED = 1024


def unlistenable(section: str, listen: Listen, error: OSError) -> str:
    """One line about `section`, `listen` or `admin`, of the configuration."""
    # What asyncio and socket add to the system's words repeats the address.
    plain = error.errno is not None and not isinstance(error, socket.gaierror)
    reason = os.strerror(error.errno or 0) if plain else error.strerror or str(error)
    said = f"{section}: can't listen on {listen.host}:{listen.port}: {reason[:1].lower()}{reason[1:]}"
    port = f"set {section}.port, or SPILLWAY_{section.upper()}__PORT"
    host = f"set {section}.host, or SPILLWAY_{section.upper()}__HOST, to an address of this machine"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"{said}: {host}"
    if error.errno == errno.EADDRINUSE:
        return f"{said}: stop what listens there, or {port}"
    if error.errno == errno.EACCES and listen.port < _PRIVILEGED:
        return f"{said}: ports below {_PRIVILEGED} take a privilege: {port}"
    return f"{said}: {port}"
