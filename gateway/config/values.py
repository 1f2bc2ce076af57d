"""The single values of the configuration file as types: what each may be, and the words that say so."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError


@dataclass(frozen=True)
class Must:
    """Marks a type whose pattern speaks in symbols; `words` complete "must be"."""

    words: str


@dataclass(frozen=True)
class Secret:
    """Marks a value that is never shown, and that `${NAME}` may stand for."""


def refusal(reason: str) -> PydanticCustomError:
    """An error for a value's validator to raise, in words that follow the field's name."""
    return PydanticCustomError("refused", "{reason}", {"reason": reason})


def _not_a_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise refusal(f"must be a number, not {str(value).lower()}")
    return value


def _usable_host(host: str) -> str:
    if ":" in host:
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise refusal(f"{host!r} is no IPv6 address: leave out brackets, and give the port as port") from None
    return host


def _usable_url(url: str) -> str:
    _without_v1(_with_host(url).path)
    return url


def _usable_origin(origin: str) -> str:
    if origin == "*":
        return origin
    parts = _with_host(origin)
    if parts.port == {"http": 80, "https": 443}.get(parts.scheme):
        raise refusal(f"{origin!r} is not as browsers send it: leave out :{parts.port}")
    return origin


def _usable_redis_url(url: str) -> str:
    _with_host(url)
    return url


def _with_host(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise refusal(f"{url!r} is not a usable URL: {str(error).lower()}") from None
    if not parts.hostname:
        raise refusal(f"{url!r} has no host")
    if port == 0:
        raise refusal(f"{url!r} needs a port from 1 to 65535")
    return parts


def _without_v1(path: str) -> str:
    if path.rstrip("/").endswith("/v1"):
        raise refusal("leave /v1 out: the gateway adds it")
    return path


def _port_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _usable_pod_port(port: str) -> str:
    if port.isdigit() and not 1 <= int(port) <= 65535:
        raise refusal(f"{port} is no port: give 1 to 65535, or a port's name")
    return port


_LABEL_NAME = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


def _usable_labels(labels: dict[str, str]) -> dict[str, str]:
    for name, value in labels.items():
        if not _LABEL_NAME.fullmatch(name):
            raise refusal(f"{name!r} is no name of a Kubernetes label, such as app or example.com/app")
        if not _LABEL_VALUE.fullmatch(value):
            raise refusal(f"{value!r} is no value of a Kubernetes label: up to 63 letters, digits, -, _ and .")
    return labels


_Number = BeforeValidator(_not_a_boolean)

Port = Annotated[int, Field(ge=0, le=65535), _Number]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), _Number]
SecondsOrZero = Annotated[float, Field(ge=0, allow_inf_nan=False), _Number]
Ratio = Annotated[float, Field(ge=0, le=1), _Number]
PositiveRatio = Annotated[float, Field(gt=0, le=1), _Number]
Count = Annotated[int, Field(ge=0), _Number]
PositiveInt = Annotated[int, Field(ge=1), _Number]

Host = Annotated[
    str,
    StringConstraints(pattern=r"^[!-.0-~]+$"),
    AfterValidator(_usable_host),
    Must("an address or a host name, such as 0.0.0.0 or ::, without port"),
]
Name = Annotated[
    str,
    StringConstraints(max_length=256, pattern=r"^[^\s\"\\\x00-\x1f\x7f]+$"),
    Must("text without spaces, double quotes and backslashes"),
]
EngineUrl = Annotated[
    str,
    StringConstraints(pattern=r"^https?://[!\"$-.0->A-~]+(/[!\"$->@-~]*)?$"),
    AfterValidator(_usable_url),
    Must("a URL such as http://10.0.0.1:30000, without user name, query and fragment"),
]
Origin = Annotated[
    str,
    StringConstraints(pattern=r"^(\*|[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?)$"),
    AfterValidator(_usable_origin),
    Must("an origin such as https://chat.example.com, in lower case and without path, or * for all"),
]
UrlPath = Annotated[
    str,
    StringConstraints(pattern=r"^/[!-~]*$"),
    Must("a path that starts with a slash, such as /health"),
]
BasePath = Annotated[
    str,
    StringConstraints(pattern=r"^(/[!\"$->@-~]*)?$"),
    AfterValidator(_without_v1),
    Must("a path without query, such as /engine"),
]
Key = Annotated[
    str,
    StringConstraints(pattern=r"^[!-~]+$"),
    Secret(),
    Must("a key of printable ASCII characters without spaces, or ${NAME} for the value of an environment variable"),
]
RedisUrl = Annotated[
    str,
    StringConstraints(pattern=r"^rediss?://[!\"$-.0->A-~]+$"),
    AfterValidator(_usable_redis_url),
    Must("a URL such as redis://10.0.0.5:6379, or rediss:// for TLS, without user name, path and query"),
]
KeyPrefix = Annotated[
    str,
    StringConstraints(max_length=128, pattern=r"^[!-z|~]+$"),
    Must("text of printable ASCII characters without spaces and braces"),
]
_KUBERNETES_LABEL = StringConstraints(max_length=63, pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
KubernetesName = Annotated[
    str,
    _KUBERNETES_LABEL,
    Must("a name as Kubernetes has it, such as k2-baseline: lower case letters, digits and dashes"),
]
PodPort = Annotated[
    str,
    _KUBERNETES_LABEL,
    BeforeValidator(_port_as_text),
    AfterValidator(_usable_pod_port),
    Must("the name or the number of a port, such as http or 30000"),
]
Labels = Annotated[dict[str, str], Field(min_length=1), AfterValidator(_usable_labels)]
