"""Clients' keys."""

import hashlib
from collections.abc import Iterable, Mapping

from gateway.api.errors import ApiError


class Keys:
    """The keys that are let in; none lets everybody in. Kept as digests, so that looking one up leaks no timing."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Take the keys in clear."""
        self._digests = frozenset(hashlib.sha256(key.encode()).digest() for key in keys)

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Accept `Authorization: Bearer`, or `x-api-key` and `api-key` as Anthropic's and Azure's clients send.

        Raises:
            ApiError: 401.
        """
        if not self._digests:
            return
        sent = headers.get(b"authorization", b"")
        scheme, _, key = sent.partition(b" ")
        if scheme.lower() != b"bearer":
            key = headers.get(b"x-api-key") or headers.get(b"api-key") or b""
        if hashlib.sha256(key.strip()).digest() in self._digests:
            return
        given = "The API key is not valid." if key else "No API key was sent."
        raise ApiError(
            401,
            f"{given} Send 'Authorization: Bearer KEY' with a key of this gateway.",
            code="invalid_api_key",
            headers=((b"www-authenticate", b"Bearer"),),
        )
