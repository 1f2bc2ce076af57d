"""One gateway for the official clients: a pair of real engines, and fake ones for what those cannot be made to do."""

from collections.abc import Iterator

import pytest

from gateway.demo.engines import MODEL_NAME, Drafting, LocalEngine
from gateway.demo.model import prepare_model
from tests.clients.prompts import by_prompt
from tests.support.config import config, model, pool
from tests.support.gateway import gateway
from tests.support.site import Site
from tests.support.threads import EngineThread

KEY = "sk-of-the-suite"


@pytest.fixture(scope="session")
def real_engines() -> Iterator[tuple[LocalEngine, LocalEngine]]:
    """A speculative and a baseline engine of the same small model."""
    path = prepare_model()
    with (
        LocalEngine(path, name="speculative", drafting=Drafting(), slots=4) as fast,
        LocalEngine(path, name="baseline", slots=4) as plain,
    ):
        yield fast, plain


@pytest.fixture(scope="session")
def clients_site(engine_thread: EngineThread, real_engines: tuple[LocalEngine, LocalEngine]) -> Iterator[Site]:
    """Serves the real engines as `smollm2`, the fake ones as `fake`; clients need the key."""
    fast, plain = real_engines
    with engine_thread.engines(1) as fake_fast, engine_thread.engines(1) as fake_plain:
        for engine in (*fake_fast, *fake_plain):
            engine.respond = by_prompt
        settings = config(
            model(
                pool([fast.url], engine="llamacpp", health={"timeout": 5.0}),
                pool([plain.url], engine="llamacpp", health={"timeout": 5.0}),
                name=MODEL_NAME,
                policy={"threshold": 2},
            ),
            model(pool([fake_fast[0].url]), pool([fake_plain[0].url])),
            limits={"first_byte_seconds": 60.0, "idle_seconds": 60.0},
            auth={"keys": [KEY]},
        )
        with gateway(settings) as running:
            yield Site(running, fake_fast, fake_plain)


@pytest.fixture
def here(clients_site: Site) -> Site:
    for engine in clients_site.engines:
        engine.forget()
    return clients_site
