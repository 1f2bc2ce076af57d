"""The files a configuration is made from: reading them, and whether their content can be used."""

import hashlib
import os
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

from .errors import Loc, Source
from .schema import Config, Listen

_LARGEST = 16 * 1024 * 1024


class UnreadableError(Exception):
    """A file that cannot be read, with the reason in words that follow its name."""


def read(path: Path, *, streams: bool = False) -> tuple[bytes, Source]:
    """Reads a whole file; with `streams` also a pipe and the like, waiting for its end. Those have no digest.

    Raises:
        UnreadableError: there is no such file, it may not be read, or it is no file of at most 16 MiB.
    """
    try:
        with open(path, "rb", opener=None if streams else _open_at_once) as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            if not regular and not streams:
                raise UnreadableError("is not a regular file")
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise UnreadableError("does not exist") from None
    except PermissionError:
        raise UnreadableError(f"may not be read by user {os.geteuid()}: change its owner or mode") from None
    except IsADirectoryError:
        raise UnreadableError("is a folder; name a file in it") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > _LARGEST:
        raise UnreadableError(f"is larger than {_LARGEST} bytes")
    return content, Source(path, hashlib.sha256(content).hexdigest() if regular else None)


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a regular file's bytes; None if there is no such file or it cannot be read. Never waits."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            if status.st_size > _LARGEST:
                return f"{status.st_size} bytes"
            return hashlib.sha256(file.read()).hexdigest()
    except (OSError, ValueError):
        return None


def is_stream(path: Path) -> bool:
    """Whether reading it could wait, and would not give the same twice."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _open_at_once(path: str, flags: int) -> int:
    """Opens without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def keys_in(content: bytes) -> tuple[str, ...]:
    """The keys of a keys file: one a line, without blank lines and those starting with `#`.

    Raises:
        UnreadableError: a key that no client could present, or no key at all (which would let nobody or everybody in).
    """
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UnreadableError("is not UTF-8 text") from None
    keys: list[str] = []
    for number, line in enumerate(lines, start=1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UnreadableError(f"has a key on line {number} that is not printable ASCII without spaces")
        keys.append(key)
    if not keys:
        raise UnreadableError("holds no key: put one on a line, or remove keys_file")
    return tuple(keys)


def unusable_certificates(config: Config) -> Iterator[tuple[Loc, str]]:
    """Tries every certificate that the configuration names, as the server and the engine connections will."""
    for name, listen in (("listen", config.listen), ("admin", config.admin)):
        if listen is not None and (reason := _server_fault(listen)) is not None:
            yield (name, "tls_cert"), reason
    for index, model in enumerate(config.models):
        for role, pool in (("speculative", model.pools.speculative), ("baseline", model.pools.baseline)):
            if pool is not None and pool.tls.ca_file is not None and not _is_ca_file(pool.tls.ca_file):
                reason = f"{str(pool.tls.ca_file)!r} holds no certificate in PEM form"
                yield ("models", index, "pools", role, "tls", "ca_file"), reason

    redis = config.redis
    if redis is not None and redis.tls.ca_file is not None and not _is_ca_file(redis.tls.ca_file):
        yield ("redis", "tls", "ca_file"), f"{str(redis.tls.ca_file)!r} holds no certificate in PEM form"


def _server_fault(listen: Listen) -> str | None:
    if listen.tls_cert is None or listen.tls_key is None:
        return None
    try:
        # The password keeps OpenSSL from asking for one on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(listen.tls_cert, listen.tls_key, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return "does not belong to tls_key: give the certificate that was issued for this key"
        return "cannot be used with tls_key: both must be in PEM form, the key without a passphrase"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None


def _is_ca_file(path: Path) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except OSError:
        return False
    return True
