"""The listening side: uvicorn with bounds."""

from gateway.server.protocol import bounded_protocol
from gateway.server.server import Server, listening_socket, make_server
from gateway.server.unlistenable import unlistenable

__all__ = ["Server", "bounded_protocol", "listening_socket", "make_server", "unlistenable"]
