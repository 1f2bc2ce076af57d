"""A stand-in for the Kubernetes API server: real HTTP, the semantics that clients depend on, and faults on demand."""

from tests.kube.apiserver.access import ADMIN
from tests.kube.apiserver.errors import StatusError
from tests.kube.apiserver.server import ApiServer

__all__ = ["ADMIN", "ApiServer", "StatusError"]
