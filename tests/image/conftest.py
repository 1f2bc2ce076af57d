"""The image, built once for all tests; whatever is missing for that is a failure, with what to do in its text."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.image import base
from tests.image.context import snapshot
from tests.image.files import Files
from tests.image.image import BASE, Image, build
from tests.image.store import Store, find_tools, store


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
