"""The image, built once for all tests; whatever is missing for that is a failure, with what to do in its text."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.image import base
from tests.image.context import snapshot
from tests.image.files import Files
from tests.image.image import BASE, Container, Image, build, serving
from tests.image.store import Store, find_tools, store
from tests.support.config import config
from tests.support.site import fake_model
from tests.support.threads import EngineThread


@pytest.fixture(scope="session")
def image_store() -> Iterator[Store]:
    """A store that has the base."""
    find_tools()
    with store() as opened:
        opened.podman("import", base.root_filesystem(), BASE, seconds=120)
        yield opened


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What images are built from."""
    return snapshot(tmp_path_factory.mktemp("context"))


@pytest.fixture(scope="session")
def image(image_store: Store, context: Path) -> Image:
    return build(image_store, "localhost/spillway:test", context)


@pytest.fixture(scope="session")
def files(image: Image) -> Files:
    """All that is in the image."""
    return Files.of(image)


@pytest.fixture(scope="session")
def gateway(image: Image, engine_thread: EngineThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """One that serves the model `fake`, for tests that leave it as it is."""
    with engine_thread.engines(2) as [fast, plain]:
        settings = config(fake_model([fast], [plain]))
        with serving(image, settings, tmp_path_factory.mktemp("gateway")) as running:
            running.wait("/ready")
            yield running
