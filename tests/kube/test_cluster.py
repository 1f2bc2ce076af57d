"""One query of the API server: what is asked, how failures are told, credentials, and that nothing waits for ever."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.config import Kubernetes
from gateway.pools.discovery.api import ApiError, Bookmark, Drop, Put, Trouble
from gateway.pools.discovery.cluster import Cluster
from tests.kube.apiserver import ADMIN, ApiServer, StatusError
from tests.kube.shapes import NAMESPACE, SERVICE, endpoint, endpoint_slice

BEARER = "system:serviceaccount:llm:spillway"
BUSY = StatusError(429, "TooManyRequests", "please slow down", retry_after=7)
BROKEN = StatusError(500, "InternalError", "etcdserver: no leader")


def cluster(account: Path = Path("/nowhere"), **settings: Any) -> Cluster:
    query = {"service": SERVICE} if "labels" not in settings else {}
    return Cluster(Kubernetes.model_validate({**query, "timeout_seconds": 1.0, **settings}), account)


def trouble(api: Cluster) -> ApiError:
    with pytest.raises(ApiError) as failed:
        api.list()
    return failed.value


def soon(seconds: float = 0.5) -> float:
    return time.monotonic() + seconds


@pytest.mark.usefixtures("kubeconfig")
class TestList:
    def test_the_slices_of_a_service(self, server: ApiServer) -> None:
        server.put(endpoint_slice("a", [endpoint("10.0.0.1")]), endpoint_slice("b", None, service="other"))
        listing = cluster().list()
        assert [piece.metadata.name for piece in listing.slices] == ["a"]
        assert listing.version == str(server.store.version)

    def test_the_slices_with_labels(self, server: ApiServer) -> None:
        server.put(endpoint_slice("a", None, labels={"app": "k2"}), endpoint_slice("b", None, labels={"app": "x"}))
        server.put(endpoint_slice("c", None, labels={"app": "k2", "tier": ""}))
        api = cluster(labels={"app": "k2", "tier": ""})
        assert [piece.metadata.name for piece in api.list().slices] == ["c"]
        assert api.query == "EndpointSlices of labels app=k2,tier= in namespace llm"

    def test_no_slices(self) -> None:
        assert cluster().list().slices == ()

    def test_another_namespace(self, server: ApiServer) -> None:
        server.put(endpoint_slice("a", None))
        assert cluster(namespace="other").list().slices == ()

    def test_many_slices_come_in_pages(self, server: ApiServer) -> None:
        server.put(*(endpoint_slice(f"s{number:04}", None) for number in range(1100)))
        assert len(cluster().list().slices) == 1100
        assert [request.count("continue=") for request in server.requests] == [0, 1, 1]

    def test_pages_that_expire_are_asked_for_in_one_piece(self, server: ApiServer) -> None:
        server.put(*(endpoint_slice(f"s{number:04}", None) for number in range(600)))
        server.faults.broken_pages = True
        assert len(cluster().list().slices) == 600
        assert "limit" not in server.requests[-1]


@pytest.mark.usefixtures("kubeconfig")
class TestFailures:
    @pytest.mark.parametrize(
        ("error", "kind", "said"),
        [
            (BUSY, Trouble.THROTTLED, "429 please slow down"),
            (BROKEN, Trouble.SERVER_ERROR, "500 etcdserver: no leader"),
            (StatusError(503, "ServiceUnavailable", "not ready"), Trouble.SERVER_ERROR, "503 not ready"),
            (StatusError(410, "Expired", "too old"), Trouble.EXPIRED, "410 too old"),
            (StatusError(400, "BadRequest", "what?"), Trouble.REFUSED, "400 what?"),
        ],
    )
    def test_a_status(self, server: ApiServer, error: StatusError, kind: Trouble, said: str) -> None:
        server.faults.refuse(error, times=2)
        failed = trouble(cluster())
        assert (failed.trouble, str(failed), failed.retry_after) == (kind, said, error.retry_after or 0)

    def test_it_does_not_retry_by_itself(self, server: ApiServer) -> None:
        """Nor does the HTTP library below, which would wait as long as Retry-After says."""
        server.faults.refuse(BUSY)
        started = time.monotonic()
        trouble(cluster())
        assert time.monotonic() - started < 1
        assert len(server.requests) == 1

    def test_the_server_is_away(self, server: ApiServer) -> None:
        api = cluster()
        api.list()
        server.stop()
        failed = trouble(api)
        assert failed.trouble is Trouble.UNREACHABLE
        assert "refused" in str(failed)
        server.start()
        api.list()

    def test_the_server_is_slow(self, server: ApiServer) -> None:
        server.faults.delay = 3.0
        started = time.monotonic()
        assert trouble(cluster(timeout_seconds=0.3)).trouble is Trouble.TIMEOUT
        assert time.monotonic() - started < 2

    def test_no_right(self, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        server.access.issue("weak", BEARER)
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path / "weak", token="weak", namespace=NAMESPACE)))
        failed = trouble(cluster())
        assert failed.trouble is Trouble.FORBIDDEN
        assert "no right to list the EndpointSlices of Service k2-baseline in namespace llm: give the " in str(failed)
        assert "Role with get, list and watch on endpointslices (discovery.k8s.io)" in str(failed)
        assert f'User "{BEARER}" cannot list resource "endpointslices"' in str(failed)
        server.access.allow(BEARER, NAMESPACE, "endpointslices", "list")
        api = cluster()
        version = api.list().version
        with pytest.raises(ApiError, match="no right to watch the EndpointSlices"):
            list(api.watch(version, soon()))

    def test_a_certificate_that_is_not_trusted(
        self, server: ApiServer, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(kubeconfig.with_name("untrusting"))))
        text = kubeconfig.with_name("untrusting").read_text()
        lines = [line for line in text.splitlines() if "certificate-authority" not in line]
        kubeconfig.with_name("untrusting").write_text("\n".join(lines))
        failed = trouble(cluster())
        assert failed.trouble is Trouble.UNREACHABLE
        assert "certificate" in str(failed)


class TestCredentials:
    def test_none(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
        failed = trouble(cluster())
        assert failed.trouble is Trouble.NO_CREDENTIALS
        reason = f"$KUBECONFIG names {tmp_path / 'missing'}, where there is no file"
        assert f"no way to reach a Kubernetes API server: {reason}" in str(failed)

    def test_neither_a_pod_nor_a_kubeconfig(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        reason = "this is no pod of a cluster, and there is neither $KUBECONFIG nor ~/.kube/config"
        assert reason in str(trouble(cluster()))

    def test_a_kubeconfig_is_read_anew_when_it_was_refused(self, server: ApiServer, kubeconfig: Path) -> None:
        api = cluster()
        api.list()
        server.access.expire(ADMIN)
        assert trouble(api).trouble is Trouble.UNAUTHORIZED
        server.access.issue("fresh", "system:admin")
        server.access.allow("system:admin", NAMESPACE, "endpointslices", "list")
        server.kubeconfig(kubeconfig, token="fresh", namespace=NAMESPACE)
        assert trouble(api).trouble is Trouble.UNAUTHORIZED
        api.forget_credentials()
        api.list()

    def test_a_pod(self, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Host and port from the environment, the rest from the service account's files; the token rotates."""
        server.access.issue("one", BEARER)
        server.access.allow(BEARER, "engines", "endpointslices", "list", "watch")
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
        for name, content in (("token", "one"), ("ca.crt", server.ca), ("namespace", "engines")):
            (tmp_path / name).write_text(content)
        api = cluster(tmp_path)
        api.list()
        assert "/namespaces/engines/" in server.requests[-1]
        assert api.query.endswith("in namespace engines")
        server.access.expire("one")
        server.access.issue("two", BEARER)
        (tmp_path / "token").write_text("two")
        assert trouble(api).trouble is Trouble.UNAUTHORIZED
        api.forget_credentials()
        api.list()

    def test_a_token_with_a_line_break_is_not_told(self, server: ApiServer, kubeconfig: Path) -> None:
        server.kubeconfig(kubeconfig, token="secret\n")
        failed = trouble(cluster())
        assert failed.trouble is Trouble.NO_CREDENTIALS
        assert "the token can't be sent" in str(failed)
        assert "secret" not in str(failed)

    def test_a_pod_without_its_files(self, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
        failed = trouble(cluster(tmp_path))
        assert failed.trouble is Trouble.NO_CREDENTIALS
        assert "token file" in str(failed)


@pytest.mark.usefixtures("kubeconfig")
class TestWatch:
    def test_changes_in_order(self, server: ApiServer) -> None:
        api = cluster()
        version = api.list().version
        server.put(endpoint_slice("a", None), endpoint_slice("b", None, service="other"))
        server.put(endpoint_slice("a", [endpoint("10.0.0.1")]))
        server.remove(NAMESPACE, "a")
        added, modified, deleted = api.watch(version, soon())
        assert isinstance(added, Put)
        assert isinstance(modified, Put)
        assert modified.piece.endpoints
        assert deleted == Drop(str(server.store.version), "a")

    def test_bookmarks(self, server: ApiServer) -> None:
        server.bookmark_seconds = 0.05
        api = cluster()
        version = api.list().version
        server.put(endpoint_slice("b", None, service="other"))
        marks = list(api.watch(version, soon()))
        assert marks
        assert set(marks) == {Bookmark(str(server.store.version))}

    def test_events_come_at_once(self, server: ApiServer) -> None:
        api = cluster()
        events = api.watch(api.list().version, soon(10))
        put_at = time.monotonic()
        server.put(endpoint_slice("a", None))
        next(events)
        assert time.monotonic() - put_at < 0.5

    def test_a_silent_watch_is_left_in_time(self, server: ApiServer) -> None:
        api = cluster()
        version = api.list().version
        started = time.monotonic()
        events = api.watch(version, soon(0.6))
        server.put(endpoint_slice("a", None))
        next(events)
        server.faults.silence()
        server.put(endpoint_slice("b", None))
        assert list(events) == []
        assert 0.5 < time.monotonic() - started < 1.5

    def test_a_watch_that_never_falls_silent_is_left_in_time(self, server: ApiServer) -> None:
        server.bookmark_seconds = 0.01
        api = cluster()
        started = time.monotonic()
        list(api.watch(api.list().version, soon(0.4)))
        assert 0.3 < time.monotonic() - started < 1.5

    def test_a_watch_whose_time_is_over_when_it_opens_is_no_failure(self, server: ApiServer) -> None:
        """As on a busy machine: it is simply time to list again."""
        server.bookmark_seconds = 0.0
        api = cluster()
        version = api.list().version
        for late in (0.0, 0.001, 0.002, 0.005, 0.1):
            assert all(isinstance(event, Bookmark) for event in api.watch(version, soon(-late)))

    def test_gone_as_an_event(self, server: ApiServer) -> None:
        api = cluster()
        version = api.list().version
        server.store.compact()
        with pytest.raises(ApiError, match="410 too old resource version") as failed:
            list(api.watch(version, soon()))
        assert failed.value.trouble is Trouble.EXPIRED

    def test_gone_as_a_status(self, server: ApiServer) -> None:
        server.faults.refuse(StatusError(410, "Gone", "too old"), "watch")
        with pytest.raises(ApiError) as failed:
            list(cluster().watch("1", soon()))
        assert failed.value.trouble is Trouble.EXPIRED

    def test_a_failure_as_an_event(self, server: ApiServer) -> None:
        api = cluster()
        events = api.watch(api.list().version, soon(5))
        server.put(endpoint_slice("a", None))
        next(events)
        server.faults.fail_watches(BROKEN)
        with pytest.raises(ApiError, match="no leader") as failed:
            next(events)
        assert failed.value.trouble is Trouble.SERVER_ERROR

    @pytest.mark.parametrize(
        "line",
        [
            b"<html>",
            b'{"type":"MODIFIED","object":{"metadata":{"name":5}}}',
            b'{"type":"MODIFIED","object":{',
            b'{"type":"CHANGED","object":{"metadata":{"name":"a"}}}',
            b'{"object":{}}',
            b"\xff",
        ],
    )
    def test_garbage(self, server: ApiServer, line: bytes) -> None:
        api = cluster()
        events = api.watch(api.list().version, soon(5))
        server.put(endpoint_slice("a", None))
        next(events)
        server.faults.garble_watches(line)
        with pytest.raises(ApiError) as failed:
            next(events)
        assert failed.value.trouble is Trouble.GARBLED

    def test_a_connection_that_breaks(self, server: ApiServer) -> None:
        api = cluster()
        events = api.watch(api.list().version, soon(5))
        server.put(endpoint_slice("a", None))
        next(events)
        server.cut()
        with pytest.raises(ApiError) as failed:
            next(events)
        assert failed.value.trouble is Trouble.UNREACHABLE

    def test_interrupted(self, server: ApiServer) -> None:
        api = cluster()
        events = api.watch(api.list().version, soon(30))
        server.put(endpoint_slice("a", None))
        next(events)
        started = time.monotonic()
        threading.Timer(0.2, api.interrupt).start()
        with pytest.raises(ApiError):
            next(events)
        assert time.monotonic() - started < 2
        with pytest.raises(ApiError):
            list(api.watch("1", soon(30)))
        assert time.monotonic() - started < 2
