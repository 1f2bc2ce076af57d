"""What is in the image, and what is not."""

import json
import platform
import shutil
from collections import Counter
from pathlib import Path, PurePath
from typing import Any

import pytest
import yaml
from packaging.utils import canonicalize_name

from gateway import __version__
from tests.image.base import REPOSITORY
from tests.image.files import VENV, Files
from tests.image.image import BASE, COMMIT, CONFIG, UID, Container, Image, build
from tests.image.locks import pinned
from tests.image.store import Store, ToolError

# The first of them fetches and builds everything.
pytestmark = pytest.mark.timeout(600)

INSTALLED = """
import importlib.metadata, json, platform
print(json.dumps([platform.python_version(), {it.name: it.version for it in importlib.metadata.distributions()}]))
"""
COMPILERS = {"gcc", "cc", "g++", "c++", "clang", "ld", "make", "cmake", "cargo", "rustc"}
FETCHERS = {"pip", "pip3", "uv", "git", "curl", "wget"}
IMPORT_ALL = """
import importlib, pkgutil, gateway
for module in pkgutil.walk_packages(gateway.__path__, "gateway."):
    if not module.name.startswith("gateway.demo."):
        importlib.import_module(module.name)
print("imported")
"""
UNCOMPILED = """
import os, sys, gateway.demo, gateway.app, gateway.pools.discovery.cluster
cached = {name: getattr(module, "__cached__", None) for name, module in sys.modules.items()}
print([name for name, path in cached.items() if path and not os.path.exists(path)])
"""


def chart() -> dict[str, Any]:
    return dict(yaml.safe_load((REPOSITORY / "deploy" / "helm" / "spillway" / "values.yaml").read_text()))


def test_its_size(files: Files, image: Image, capsys: pytest.CaptureFixture[str]) -> None:
    ours, whole = files.size(VENV) / 1e6, image.inspect()["Size"] / 1e6
    with capsys.disabled():
        print(f"\nthe image has {whole:.0f} MB, {ours:.0f} MB of it in {VENV}")
    assert ours < 150


def test_how_it_starts(image: Image) -> None:
    config = image.inspect()["Config"]
    assert config["Entrypoint"] == ["spillway"]
    assert config["Cmd"] == ["serve", "--config", CONFIG]
    # Kubernetes can tell that it is not root's only by a number.
    assert config["User"] == f"{UID}:{UID}"
    assert chart()["gateway"]["podSecurityContext"]["runAsUser"] == UID
    assert set(config["ExposedPorts"]) == {"8080/tcp"} == {f"{chart()['gateway']['port']}/tcp"}


def test_its_labels(image: Image) -> None:
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in image.inspect()["Labels"].items()}
    assert labels["title"] == "spillway"
    assert labels["version"] == __version__
    assert labels["base.name"] == BASE
    assert labels["licenses"] == "Apache-2.0"
    assert labels["revision"] == COMMIT["REVISION"]


def test_the_command_is_in_the_path(gateway: Container) -> None:
    assert gateway.run("spillway", "--version") == f"spillway {__version__}\n"


def test_a_configuration_is_checked(gateway: Container) -> None:
    shutil.copy(REPOSITORY / "examples" / "minimal.yaml", gateway.folder)
    assert "name: kimi-k2.5" in gateway.run("spillway", "check-config", "/etc/spillway/minimal.yaml")
    (gateway.folder / "bad.yaml").write_text("models: []\n")
    with pytest.raises(ToolError, match="exit status 2") as refused:
        gateway.run("spillway", "check-config", "/etc/spillway/bad.yaml")
    assert "models" in str(refused.value)


def test_every_module_can_be_imported(gateway: Container) -> None:
    assert gateway.run("python", "-c", IMPORT_ALL) == "imported\n"


def test_the_packages_are_those_of_the_lock(gateway: Container) -> None:
    version, installed = json.loads(gateway.run("python", "-c", INSTALLED))
    locked = pinned(REPOSITORY / "requirements-image.lock", version)
    assert {canonicalize_name(name): it for name, it in installed.items()} == locked | {"spillway": __version__}


def test_the_lock_has_the_versions_that_are_tested() -> None:
    version = platform.python_version()
    tested = pinned(REPOSITORY / "requirements.lock", version)
    for lock in ("requirements-image.lock", "requirements-build.lock"):
        assert pinned(REPOSITORY / lock, version).items() <= tested.items()


def test_nothing_builds_or_installs(files: Files) -> None:
    commands = {PurePath(name).name for name in files.members if PurePath(name).parent.name in ("bin", "sbin")}
    assert commands & (COMPILERS | FETCHERS) == set()
    modules = {"pip", "setuptools", "wheel", "hatchling", "ensurepip", "python-wheels"}
    assert [name for name in files.members if PurePath(name).name in modules] == []
    left = [name for name in files.members if name.split("/")[0] in ("src", "build", "wheel")]
    assert left == []


def test_no_secret_is_left(files: Files, image: Image) -> None:
    secret = image.secret.encode()
    assert [name for name, content in files.contents() if secret in content] == []
    known = json.dumps(image.inspect()) + image.store.podman("history", "--no-trunc", image.name)
    assert image.secret not in known
    ours = dict(files.contents(VENV))
    assert [name for name, content in ours.items() if b"PRIVATE KEY-----\n" in content] == []
    assert [name for name in ours if PurePath(name).name in (".env", ".netrc", ".git", "pip.conf")] == []


def test_only_root_may_write_and_everybody_may_read(files: Files) -> None:
    ours = {name: member for name, member in files.members.items() if name.startswith(VENV)}
    assert {(member.uid, member.gid) for member in ours.values()} == {(0, 0)}
    shut = [name for name, member in ours.items() if not member.issym() and member.mode & 0o222 & ~0o200]
    unreadable = [name for name, member in ours.items() if member.mode & 0o444 != 0o444]
    assert (shut, unreadable) == ([], [])


def test_all_of_it_is_compiled(files: Files) -> None:
    compiled = {}
    for name, content in files.contents(VENV):
        path = PurePath(name)
        if path.suffix == ".pyc":
            compiled[str(path.parent.parent / path.name.split(".")[0])] = int.from_bytes(content[4:8], "little")
        elif path.suffix == ".py":
            compiled.setdefault(str(path.with_suffix("")), -1)
    # 1: found valid without a look at the source.
    assert Counter(compiled.values()) == {1: len(compiled)}


def test_what_it_imports_of_python_is_compiled(gateway: Container) -> None:
    """The official images of Python bring no bytecode."""
    assert gateway.run("python", "-c", UNCOMPILED) == "[]\n"


def test_it_is_built_the_same_again(image: Image, image_store: Store, context: Path) -> None:
    again = build(image_store, "localhost/spillway:again", context)
    assert again.inspect()["RootFS"] == image.inspect()["RootFS"]
