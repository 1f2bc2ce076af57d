"""From what a client sent to what routing needs: traits, model, pin. Bad input is refused here."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from gateway.api.errors import ApiError, unknown_model
from gateway.models import Model, Models
from gateway.relay.client import Message
from gateway.relay.endpoints import Endpoint
from gateway.relay.inspect import BodyError, Traits, inspect_json, inspect_multipart
from gateway.routing import ROLES, Role

_PIN = b"x-spillway-pool"
_MODEL = b"x-spillway-model"


def check_type(path: str, endpoint: Endpoint, content_type: bytes) -> None:
    """Refuse a body that is declared as something else than JSON where only JSON will do; undeclared is taken for JSON.

    Raises:
        ApiError: 415.
    """
    if endpoint.needs_json and content_type and not _is_json(content_type):
        raise ApiError(415, f"{path} takes JSON: send content-type application/json.", code="unsupported_media_type")


def read_traits(endpoint: Endpoint, content_type: bytes, body: bytes) -> Traits:
    """What routing needs of a body.

    Raises:
        ApiError: 400 for a malformed one.
    """
    try:
        return _inspect(endpoint, content_type, body)
    except BodyError as error:
        raise ApiError(400, str(error), code=error.code, param=error.param) from None


def find_model(models: Models, traits: Traits, scope: Message, headers: Mapping[bytes, bytes]) -> Model:
    """The model a request is for. One that names none goes to the only model there is.

    Raises:
        ApiError: 404 for an unknown model, 400 if it names none and there are several.
    """
    name = traits.model
    if name is None and _MODEL in headers:
        name = headers[_MODEL].decode("latin-1")
    if name is None and scope["query_string"]:
        name = parse_qs(scope["query_string"].decode("latin-1")).get("model", [None])[0]
    if name is not None:
        model = models.find(name)
        if model is None:
            raise unknown_model(name, models.names)
        return model
    sole = models.sole()
    if sole is None or (traits.model is None and scope["path"] in _MUST_NAME_MODEL):
        raise ApiError(
            400,
            "The request names no model. Set 'model' in the body, or the header x-spillway-model, to one of: "
            + ", ".join(models.names)
            + ".",
            code="missing_model",
            param="model",
        )
    return sole


def read_pin(model: Model, headers: Mapping[bytes, bytes]) -> Role | None:
    """The pool that the client asks for.

    Raises:
        ApiError: 400 for a pool that doesn't exist, 403 where pinning isn't allowed.
    """
    wish = headers.get(_PIN)
    if wish is None:
        return None
    role = next((role for role in ROLES if role.encode() == wish.strip().lower()), None)
    if role is None:
        raise _bad_pin(400, "x-spillway-pool must be 'speculative' or 'baseline'.", "invalid_pool")
    if not model.config.policy.allow_pinning:
        advice = "Leave the header out, or have policy.allow_pinning set."
        raise _bad_pin(
            403, f"The model {model.config.name!r} does not allow x-spillway-pool. {advice}", "pinning_not_allowed"
        )
    if model.pools[role].config is None:
        raise _bad_pin(400, f"The model {model.config.name!r} has no {role} pool.", "invalid_pool")
    return role


# OpenAI's own endpoints require it, and a client that forgets it should hear so whatever is configured.
_MUST_NAME_MODEL = frozenset(
    (
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
        "/v1/messages",
        "/v1/audio/speech",
        "/v1/audio/transcriptions",
        "/v1/audio/translations",
    )
)


def _bad_pin(status: int, message: str, code: str) -> ApiError:
    return ApiError(status, message, code=code, param=_PIN.decode())


def _inspect(endpoint: Endpoint, content_type: bytes, body: bytes) -> Traits:
    if content_type[:19].lower() == b"multipart/form-data":
        return inspect_multipart(content_type, body)
    if endpoint.needs_json or (body and _is_json(content_type)):
        return inspect_json(body)
    return Traits(None)


def _is_json(content_type: bytes) -> bool:
    if content_type == b"application/json":
        return True
    media = content_type.split(b";", 1)[0].strip().lower()
    return media == b"application/json" or media.endswith(b"+json")
