"""Where requests go, and one request's bytes."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

import msgspec

CHAT = "/v1/chat/completions"


class BadTargetError(ValueError):
    """A URL that can't be used; the message says why."""


@dataclass(frozen=True)
class Target:
    """A server. `prefix` is what its URL has before /v1. `verify` False takes any certificate."""

    host: str
    port: int
    tls: bool = False
    prefix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    verify: bool = True
    ca_file: str | None = None

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """Its URL, without a slash at the end."""
        return f"http{'s' if self.tls else ''}://{self.authority}{self.prefix}"

    @cached_property
    def context(self) -> ssl.SSLContext | None:
        """For its TLS connections; None for plain HTTP. Raises OSError when `ca_file` can't be read."""
        if not self.tls:
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def parse_target(
    url: str, headers: Mapping[str, str] | None = None, *, verify: bool = True, ca_file: str | None = None
) -> Target:
    """The server at a base URL, with or without /v1 at its end. Raises BadTargetError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadTargetError(f"{url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadTargetError(f"{url!r} is not a URL: it must be like http://HOST:PORT")
    if parts.query or parts.fragment or parts.username:
        raise BadTargetError(f"{url!r} is not a base URL: it must end with its path, and have no user in it")
    tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return Target(parts.hostname, port or (443 if tls else 80), tls, prefix, dict(headers or {}), verify, ca_file)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `cancel_after` closes the connection after that many events with content; 0 as soon as it is sent.

    `keep_text` keeps the answer's text in the sample: conversations need it.
    """

    body: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)
    path: str = CHAT
    cancel_after: int | None = None
    keep_text: bool = False

    def encode(self, target: Target) -> bytes:
        """The whole request as it goes over the wire."""
        body = msgspec.json.encode({**self.body, "stream": True, "stream_options": {"include_usage": True}})
        headers = {
            "host": target.authority,
            "content-type": "application/json",
            "accept": "text/event-stream",
            "user-agent": "spillway-loadtest",
            **target.headers,
            **self.headers,
            "content-length": str(len(body)),
        }
        lines = [f"POST {target.prefix}{self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
