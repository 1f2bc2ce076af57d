"""Refusals as Kubernetes words them."""

from typing import Any

from tests.kube.apiserver.resources import Resource


class StatusError(Exception):
    """A failed request: an HTTP status and a Status object."""

    def __init__(
        self, code: int, reason: str, message: str, *, retry_after: int | None = None, cause: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.cause = cause

    def status(self) -> dict[str, Any]:
        """The Status object."""
        details: dict[str, Any] = {}
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        if self.cause:
            details["causes"] = [{"reason": self.cause, "message": self.message}]
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }


def not_found(resource: Resource, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{resource.qualified} "{name}" not found')


def exists(resource: Resource, name: str) -> StatusError:
    return StatusError(409, "AlreadyExists", f'{resource.qualified} "{name}" already exists')


def conflict(resource: Resource, name: str) -> StatusError:
    return StatusError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": the object has been modified; please apply '
        "your changes to the latest version and try again",
    )


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def too_large(stated: int, version: int) -> StatusError:
    message = f"Too large resource version: {stated}, current: {version}"
    return StatusError(504, "Timeout", message, retry_after=1, cause="ResourceVersionTooLarge")


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)
