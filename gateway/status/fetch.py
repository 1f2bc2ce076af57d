"""One look at /status over HTTP, and what to do when there is nothing to see."""

import os
import socket
import ssl
from collections.abc import Iterator

import httpx
import msgspec

from gateway.status.shape import Status


class NoStatusError(Exception):
    """There is no status to be had; says why, and what to do."""


class Source:
    """Where a gateway serves /status."""

    def __init__(self, url: str, *, timeout: float, ca_file: str | None = None, insecure: bool = False) -> None:
        """`timeout` in seconds.

        Raises:
            NoStatusError: the URL or the file cannot be used.
        """
        self.url = _base(url) + "/status"
        self._timeout = timeout
        context = _trust(ca_file, insecure=insecure)
        self._http = httpx.Client(verify=context, timeout=timeout, trust_env=False, follow_redirects=False)

    def close(self) -> None:
        """Give up its connection."""
        self._http.close()

    def read(self) -> bytes:
        """The answer, a JSON object.

        Raises:
            NoStatusError: there is none.
        """
        try:
            response = self._http.get(self.url, headers={"accept": "application/json"})
        except httpx.TimeoutException as error:
            raise NoStatusError(f"{self.url}: no answer within {self._timeout:g} s") from error
        except httpx.HTTPError as error:
            raise NoStatusError(f"{self.url}: {_unreachable(error)}") from error
        if response.status_code != 200:
            raise NoStatusError(f"{self.url}: {response.status_code}: {_refused(response.status_code)}")
        try:
            answer = msgspec.json.decode(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NoStatusError(f"{self.url}: the answer is no JSON: is this a Spillway gateway?") from error
        if not isinstance(answer, dict):
            raise NoStatusError(f"{self.url}: the answer is no JSON object: is this a Spillway gateway?")
        return response.content


def decoded(url: str, body: bytes) -> Status:
    """The answer of `url` as types.

    Raises:
        NoStatusError: it has another shape.
    """
    try:
        return msgspec.json.decode(body, type=Status)
    except msgspec.ValidationError as error:
        advice = "is this a Spillway gateway? If it is of another version, --json prints what it says"
        raise NoStatusError(f"{url}: the answer is no status as known here: {error}: {advice}") from error


def _base(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise NoStatusError(f"{url}: no usable URL ({error}): give one such as http://127.0.0.1:8080") from error
    if parts.scheme not in ("http", "https") or not parts.host:
        raise NoStatusError(f"{url}: no usable URL: give one such as http://127.0.0.1:8080")
    return url.rstrip("/").removesuffix("/status")


def _trust(ca_file: str | None, *, insecure: bool) -> ssl.SSLContext:
    if insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError as error:
        raise NoStatusError(f"{ca_file}: holds no certificate in PEM form") from error
    except OSError as error:
        raise NoStatusError(f"{ca_file}: {(error.strerror or str(error)).lower()}") from error


def _refused(status: int) -> str:
    if status in (401, 403):
        return "something in front of the gateway wants credentials: ask the gateway itself, at its own address"
    if status == 404:
        return "there is no /status here: a gateway with admin in its configuration has it there, and not on listen"
    if 300 <= status < 400:
        return "this leads elsewhere: ask the gateway itself, at its own address"
    return "is this a Spillway gateway?"


def _unreachable(error: httpx.HTTPError) -> str:
    """httpx hides the system's reason behind its own."""
    for cause in _chain(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return f"certificate refused: {cause.verify_message}: name its authority's file with --ca-file"
            case ssl.SSLError():
                return "no TLS connection: is this an http port?"
            case socket.gaierror():
                return f"the host does not resolve: {(cause.strerror or '').lower()}"
            case OSError(errno=int(number)):
                return f"{os.strerror(number).lower()}: is the gateway running, and is this its address?"
    if isinstance(error, httpx.RemoteProtocolError):
        return f"no HTTP ({error}): is this an https port?"
    return f"{type(error).__name__}: {error}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        # A host with several addresses fails once for each.
        seen = seen.exceptions[0] if isinstance(seen, BaseExceptionGroup) else seen.__cause__ or seen.__context__
