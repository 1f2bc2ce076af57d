"""The addresses that a gateway listens on, and who answers there: the relay, or the control plane."""

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.api.control import Control, add_admin, admin_app, public_app
from gateway.config import Config, Cors, Limits, Listen
from gateway.relay import Relay, is_relayed
from gateway.relay.client import App, Message, Receive, Send
from gateway.server import (
    CrossOrigin,
    Server,
    answer_preflight,
    bounded_protocol,
    is_preflight,
    listening_socket,
    make_server,
    unlistenable,
)
from gateway.ui import Live, add_ui


class ListenError(Exception):
    """An address can't be listened on; says which and why."""


@dataclass(slots=True)
class Edge:
    """What a reload replaces of the listening side; `refused` is told the status of what never became a request.

    `between` is called between the steps of requests.
    """

    limits: Limits
    cross_origin: CrossOrigin | None
    refused: Callable[[int], None]
    between: Callable[[], None] | None = None


def cross_origin(settings: Cors) -> CrossOrigin | None:
    """None where no web page may call."""
    return CrossOrigin(settings.allowed_origins) if settings.allowed_origins else None


def open_servers(relay: Relay, control: Control, live: Live, edge: Edge, config: Config) -> list[Server]:
    """The server for clients, and one for operators if they have an address of their own. They listen from now on.

    Raises:
        ListenError: an address can't be listened on.
    """
    public = public_app(control, alone=config.admin is not None)
    if config.admin is None:
        add_ui(add_admin(public, control), live)
    listeners = [_bound("listen", config.listen)]
    if config.admin is not None:
        listeners.append(_bound("admin", config.admin))
    protocol = bounded_protocol(lambda: edge.limits, edge.refused, is_relayed, lambda: edge.cross_origin, edge.between)
    servers = [make_server(_dispatch(relay, public, edge), config.listen, listeners[0], protocol)]
    if config.admin is not None:
        protocol = bounded_protocol(lambda: edge.limits, edge.refused)
        admin = admin_app(control)
        add_ui(admin, live)
        servers.append(make_server(admin, config.admin, listeners[1], protocol))
    return servers


def _bound(name: str, listen: Listen) -> socket.socket:
    try:
        return listening_socket(listen)
    except OSError as error:
        raise ListenError(unlistenable(name, listen, error)) from error


def _dispatch(relay: Relay, control: App, edge: Edge) -> App:
    def application(scope: Message, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["method"] == "OPTIONS" and is_preflight(scope):
            return answer_preflight(edge.cross_origin, scope, send)
        if is_relayed(scope["path"]):
            return relay(scope, receive, send)
        return control(scope, receive, send)

    return application
