"""The API server, through the official client.

Importing that takes a second and 30 MB, so only a thread that needs it imports this module. Of the client, the
configuration, credentials and HTTP are used. Its models are not: those of some versions refuse the null that the API
server writes for an empty list. Nor is its `Watch`, which has no end in time when the server falls silent.
"""

import contextlib
import math
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from gateway import __version__
from gateway.config import Kubernetes
from gateway.pools.discovery.api import ApiError, Event, Listing, Trouble, event_of, failure, message_of, page_of
from gateway.pools.discovery.slices import EndpointSlice

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_KUBECONFIG = "~/.kube/config"
_PAGE = 500
_CHUNK = 1 << 16
_SERVER_GRACE = 5
_ADDRESS = re.compile(r" object at 0x[0-9a-f]+")
_RIGHTS = "give the gateway's service account a Role with get, list and watch on endpointslices (discovery.k8s.io)"


class Cluster:
    """See `Api`: the EndpointSlices of one namespace with certain labels."""

    def __init__(self, settings: Kubernetes, account: Path = SERVICE_ACCOUNT) -> None:
        """Nothing is read or connected before the first request. `account` is where a pod finds its credentials."""
        self._settings = settings
        self._account = account
        self._api: client.DiscoveryV1Api | None = None
        self._namespace = settings.namespace
        self._lock = threading.Lock()
        self._response: urllib3.HTTPResponse | None = None
        self._interrupted = False

    @property
    def query(self) -> str:
        """What is looked for, in words."""
        what = f"Service {self._settings.service}" if self._settings.service else f"labels {self._selector}"
        return f"EndpointSlices of {what} in namespace {self._namespace or '(own)'}"

    def list(self) -> Listing:
        """Every slice there is now: a consistent read, page by page."""
        limit: int | None = _PAGE
        while True:
            try:
                return self._pages(limit)
            except ApiError as error:
                # A page that comes too late: once more, in one piece.
                if error.trouble is not Trouble.EXPIRED or limit is None:
                    raise
                limit = None

    def watch(self, version: str, until: float) -> Iterator[Event]:
        """What changes after `version`. The server would end it a little after `until`, when it is left anyway."""
        seconds = max(until - time.monotonic(), 0.0)
        response = self._get(
            seconds,
            watch=True,
            resource_version=version,
            allow_watch_bookmarks=True,
            timeout_seconds=math.ceil(seconds) + _SERVER_GRACE,
        )
        with self._reading(response):
            for line in _lines(response, until):
                yield event_of(line)

    def forget_credentials(self) -> None:
        """Read them anew before the next request."""
        if self._api is not None:
            self._api.api_client.close()
        self._api = None

    def interrupt(self) -> None:
        """Make a read that waits for the server fail, now and from now on."""
        with self._lock:
            self._interrupted = True
            if self._response is not None:
                _break(self._response)

    @property
    def _selector(self) -> str:
        if self._settings.service is not None:
            return f"kubernetes.io/service-name={self._settings.service}"
        return ",".join(f"{name}={value}" for name, value in (self._settings.labels or {}).items())

    def _pages(self, limit: int | None) -> Listing:
        slices: list[EndpointSlice] = []
        token: str | None = None
        while True:
            listing, token = page_of(self._body(limit=limit, _continue=token))
            slices += listing.slices
            if token is None:
                return Listing(listing.version, tuple(slices))

    def _body(self, **query: Any) -> bytes:
        until = time.monotonic() + self._settings.timeout_seconds
        response = self._get(self._settings.timeout_seconds, **query)
        pieces: list[bytes] = []
        with self._reading(response):
            _allow(response, until)
            for piece in response.stream(_CHUNK):
                pieces.append(piece)
                _allow(response, until)
        return b"".join(pieces)

    def _get(self, read_seconds: float, **query: Any) -> urllib3.HTTPResponse:
        """Start a request; the head of its answer has come."""
        timeout = (self._settings.timeout_seconds, max(self._settings.timeout_seconds, read_seconds))
        given = {name: value for name, value in query.items() if value is not None}
        try:
            api, namespace = self._connected()
            answer: object = api.list_namespaced_endpoint_slice(
                namespace, label_selector=self._selector, _preload_content=False, _request_timeout=timeout, **given
            )
        except (ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            self._fail(error, "watch" if "watch" in given else "list")
        except ValueError:
            # Its message would hold the token.
            reason = "the token can't be sent: it holds a line break or other characters that no header may have"
            raise ApiError(Trouble.NO_CREDENTIALS, reason) from None
        # With _preload_content=False the client returns what it has from urllib3, whatever its annotations say.
        return cast("urllib3.HTTPResponse", answer)

    def _connected(self) -> tuple[client.DiscoveryV1Api, str]:
        if self._api is None or self._namespace is None:
            transport = client.ApiClient(self._configuration())
            transport.user_agent = f"spillway/{__version__}"
            self._api = client.DiscoveryV1Api(transport)
            self._namespace = self._namespace or self._own_namespace()
        return self._api, self._namespace

    def _configuration(self) -> client.Configuration:
        """$KUBECONFIG, else the pod's service account, else ~/.kube/config. The client rereads a pod's token each
        minute, as bound tokens rotate; what a kubeconfig holds is read when the credentials were refused."""
        made = client.Configuration()
        try:
            if self._in_cluster:
                loader = config.incluster_config.InClusterConfigLoader(
                    token_filename=str(self._account / "token"), cert_filename=str(self._account / "ca.crt")
                )
                loader.load_and_set(made)
            else:
                config.load_kube_config(config_file=os.environ.get("KUBECONFIG"), client_configuration=made)
        except (config.ConfigException, OSError, ValueError) as error:
            reason = f"no way to reach a Kubernetes API server: {self._lacking() or error}"
            raise ApiError(Trouble.NO_CREDENTIALS, reason) from None
        # Retries and their pauses are the follower's.
        made.retries = False
        return made

    def _lacking(self) -> str | None:
        """What is not there at all, rather than wrong."""
        given = os.environ.get("KUBECONFIG")
        if self._in_cluster or any(Path(it).expanduser().exists() for it in (given or _KUBECONFIG).split(os.pathsep)):
            return None
        if given:
            return f"$KUBECONFIG names {given}, where there is no file"
        return f"this is no pod of a cluster, and there is neither $KUBECONFIG nor {_KUBECONFIG}"

    @property
    def _in_cluster(self) -> bool:
        return not os.environ.get("KUBECONFIG") and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))

    def _own_namespace(self) -> str:
        if self._in_cluster:
            with contextlib.suppress(OSError):
                return (self._account / "namespace").read_text().strip()
        else:
            with contextlib.suppress(config.ConfigException):
                _, active = config.list_kube_config_contexts(os.environ.get("KUBECONFIG"))
                return str(active["context"].get("namespace") or "default")
        return "default"

    @contextlib.contextmanager
    def _reading(self, response: urllib3.HTTPResponse) -> Iterator[None]:
        """Read the body; its failures become ours."""
        with self._lock:
            self._response = response
            if self._interrupted:
                _break(response)
        try:
            yield
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            self._fail(error, "read")
        finally:
            with self._lock:
                self._response = None
            response.close()
            response.release_conn()

    def _fail(self, error: Exception, verb: str) -> NoReturn:
        if isinstance(error, ApiException) and error.status:
            retry_after = (error.headers or {}).get("Retry-After")
            found = failure(error.status, message_of(error.body), retry_after)
            if found.trouble is Trouble.FORBIDDEN:
                raise ApiError(
                    found.trouble, f"no right to {verb} the {self.query}: {_RIGHTS}; it says: {found}"
                ) from None
            raise found from None
        # urllib3 counts a refused connection among the timeouts.
        refused = isinstance(error, urllib3.exceptions.NewConnectionError)
        timed_out = isinstance(error, urllib3.exceptions.TimeoutError | TimeoutError) and not refused
        trouble = Trouble.TIMEOUT if timed_out else Trouble.UNREACHABLE
        text = " ".join(str(error.reason if isinstance(error, ApiException) else error).split())
        # The same failure has the same words each time, so that the log need not repeat them.
        raise ApiError(trouble, f"{type(error).__name__}: {_ADDRESS.sub('', text)}") from None


def _lines(response: urllib3.HTTPResponse, until: float) -> Iterator[bytes]:
    """The lines of a body as they come; ends in silence at `until`."""
    rest = b""
    pieces = response.stream(None, decode_content=False)
    while (left := until - time.monotonic()) > 0:
        _limit(response, left)
        try:
            piece = next(pieces, None)
        except urllib3.exceptions.ReadTimeoutError:
            return
        if piece is None:
            return
        *lines, rest = (rest + piece).split(b"\n")
        yield from filter(None, lines)


def _allow(response: urllib3.HTTPResponse, until: float) -> None:
    """Let the next read take until then.

    Raises:
        TimeoutError: it is later.
    """
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("the answer took too long")
    _limit(response, left)


def _limit(response: urllib3.HTTPResponse, seconds: float) -> None:
    """Let the next read take so long."""
    # Without this, as where the server closes after the answer, a read may take as long as the request allowed it.
    sock: socket.socket | None = getattr(response.connection, "sock", None)
    if sock is not None:
        sock.settimeout(seconds)


def _break(response: urllib3.HTTPResponse) -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        response.shutdown()
