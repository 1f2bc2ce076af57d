"""The listening side: uvicorn with bounds."""

from gateway.server.cors import CrossOrigin, answer_preflight, is_preflight
from gateway.server.protocol import bounded_protocol
from gateway.server.server import Server, listening_socket, make_server
from gateway.server.unlistenable import unlistenable

__all__ = [
    "CrossOrigin",
    "Server",
    "answer_preflight",
    "bounded_protocol",
    "is_preflight",
    "listening_socket",
    "make_server",
    "unlistenable",
]
