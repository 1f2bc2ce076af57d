"""Which model a request is for, which pool it may name, and who may send it at all."""

from typing import Any

import pytest

from gateway.api.auth import Keys
from gateway.api.errors import ApiError
from gateway.models import Models
from gateway.relay.endpoints import Endpoint, find_endpoint
from gateway.relay.inspect import Traits
from gateway.relay.intake import check_type, find_model, read_pin, read_traits
from tests.models.fleet import Clock, Watch, config

CHAT = "/v1/chat/completions"
FORM = b"multipart/form-data; boundary=b"


def models(*names: str, **policy: Any) -> Models:
    made = Models(Watch(), Clock())
    made.reconfigure(
        tuple(config(name=name, **policy).model_copy(update={"aliases": (f"{name}-alias",)}) for name in names)
    )
    return made


def found(
    known: Models,
    name: str | None = None,
    path: str = CHAT,
    query: bytes = b"",
    headers: dict[bytes, bytes] | None = None,
) -> str:
    scope = {"path": path, "query_string": query}
    return find_model(known, Traits(name), scope, headers or {}).config.name


def refusal(call: Any, *args: Any, **kwargs: Any) -> tuple[int, str]:
    with pytest.raises(ApiError) as refused:
        call(*args, **kwargs)
    return refused.value.status, refused.value.code


def test_a_model_by_name_or_alias() -> None:
    known = models("a", "b")
    assert found(known, "b") == "b"
    assert found(known, "a-alias") == "a"


def test_a_model_that_is_not_in_the_body() -> None:
    """By a header, or in the query."""
    known = models("a", "b")
    assert found(known, headers={b"x-spillway-model": b"b"}) == "b"
    assert found(known, query=b"x=1&model=a-alias") == "a"
    assert found(known, "a", query=b"model=b", headers={b"x-spillway-model": b"b"}) == "a", "the body decides"


@pytest.mark.parametrize("name", ["", "A", "c", "a ", 'x"\n' * 200])
def test_an_unknown_model(name: str) -> None:
    known = models("a", "b")
    assert refusal(found, known, name) == (404, "model_not_found")
    with pytest.raises(ApiError, match="a, a-alias, b, b-alias"):
        found(known, name)


def test_no_model_named() -> None:
    """OpenAI's endpoints want one; the others go to the only one there is."""
    assert refusal(found, models("a")) == (400, "missing_model")
    assert found(models("a"), path="/v1/rerank") == "a"
    assert found(models("a"), path="/v1/files") == "a"
    assert refusal(found, models("a", "b"), path="/v1/files") == (400, "missing_model")


def test_a_pin() -> None:
    [model] = models("a", allow_pinning=True)
    assert read_pin(model, {}) is None
    assert read_pin(model, {b"x-spillway-pool": b" SPECULATIVE "}) == "speculative"
    assert refusal(read_pin, model, {b"x-spillway-pool": b"both"}) == (400, "invalid_pool")


def test_a_pin_that_is_not_allowed() -> None:
    [model] = models("a")
    assert refusal(read_pin, model, {b"x-spillway-pool": b"baseline"}) == (403, "pinning_not_allowed")


def test_a_pin_to_a_pool_that_does_not_exist() -> None:
    made = Models(Watch(), Clock())
    made.reconfigure((config(1, None, allow_pinning=True),))
    [model] = made
    assert refusal(read_pin, model, {b"x-spillway-pool": b"baseline"}) == (400, "invalid_pool")


@pytest.mark.parametrize(
    "kind", [b"", b"application/json", b"Application/JSON; charset=utf-8", b"application/vnd.x+json"]
)
def test_types_that_are_taken_for_json(kind: bytes) -> None:
    endpoint = find_endpoint(CHAT, "POST")
    check_type(CHAT, endpoint, kind)
    assert read_traits(endpoint, kind, b'{"model": "m"}').model == "m"


@pytest.mark.parametrize("kind", [b"text/plain", b"application/x-www-form-urlencoded", FORM, b"application/jsonx"])
def test_types_that_are_not(kind: bytes) -> None:
    assert refusal(check_type, CHAT, find_endpoint(CHAT, "POST"), kind) == (415, "unsupported_media_type")


def test_what_is_read_of_other_endpoints() -> None:
    """JSON and forms where they are declared; anything else passes unread."""
    other = Endpoint()
    assert read_traits(other, b"application/json", b'{"model": "m"}').model == "m"
    assert read_traits(other, b"application/json", b"") == Traits(None)
    form = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--b--\r\n'
    assert read_traits(other, FORM, form).model == "m"
    assert read_traits(other, b"audio/wav", b'{"model": "m"}') == Traits(None)
    assert refusal(read_traits, other, FORM, b"x") == (400, "invalid_multipart")


@pytest.mark.parametrize(
    "headers",
    [
        {b"authorization": b"Bearer k1"},
        {b"authorization": b"bearer  k2 "},
        {b"x-api-key": b"k1"},
        {b"api-key": b"k2"},
        {b"authorization": b"Basic eDp5", b"x-api-key": b"k1"},
    ],
)
def test_keys_that_are_let_in(headers: dict[bytes, bytes]) -> None:
    Keys(("k1", "k2")).check(headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {b"authorization": b""},
        {b"authorization": b"Bearer"},
        {b"authorization": b"Bearer k3"},
        {b"authorization": b"k1"},
        {b"authorization": b"Bearer k1k2"},
        {b"authorization": b"Bearer k3", b"x-api-key": b"k1"},
        {b"x-api-key": b""},
        {b"x-api-key": b"\xff\x00"},
    ],
)
def test_keys_that_are_not(headers: dict[bytes, bytes]) -> None:
    with pytest.raises(ApiError) as refused:
        Keys(("k1", "k2")).check(headers)
    assert refused.value.status == 401
    assert (b"www-authenticate", b"Bearer") in refused.value.headers


def test_without_keys_everybody_is_let_in() -> None:
    Keys(()).check({})
    Keys(()).check({b"authorization": b"Bearer whatever"})
