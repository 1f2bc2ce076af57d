"""What runs in the engines' image needs nothing of the gateway, and little else."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "engine-images" / "spillway_engine"
# Which SGLang brings along.
ALLOWED = {"httpx", "pydantic", "yaml", "spillway_engine"}


def test_it_imports_nothing_that_the_image_lacks() -> None:
    imported = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
    assert imported - set(sys.stdlib_module_names) <= ALLOWED


def test_it_runs_from_a_folder_as_in_the_image(tmp_path: Path) -> None:
    """The Dockerfile's copies, by hand: code and profiles in one folder, and the launcher."""
    text = (REPOSITORY / "engine-images" / "sglang" / "Dockerfile").read_text()
    copies = [line.split()[-2:] for line in text.splitlines() if line.startswith("COPY")]
    for source, target in copies:
        place = tmp_path / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", REPOSITORY / source, place], check=True)
    launcher = tmp_path / "usr/local/bin/spillway-engine"
    launcher.write_text(launcher.read_text().replace("/opt/", f"{tmp_path}/opt/"))
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-P", launcher, "render", "kimi-k2.5/eagle3-adaptive"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/opt/spillway-engine/spillway_engine/profiles/kimi-k2.5/adaptive.json" in done.stdout


def test_the_dockerfile_is_clean() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    file = REPOSITORY / "engine-images" / "sglang" / "Dockerfile"
    done = subprocess.run([hadolint, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_versions_agree() -> None:
    from spillway_engine.surface import PINNED

    text = (REPOSITORY / "engine-images" / "sglang" / "Dockerfile").read_text()
    assert f"ARG SGLANG={PINNED}\n" in text
    assert f"ARG BASE=lmsysorg/sglang:v{PINNED}-cu130\n" in text
    assert f"sglang=={PINNED} " in (REPOSITORY / "tests" / "sglang" / "requirements.lock").read_text()
    for example in ("k2-eagle3", "small"):
        values = yaml.safe_load((REPOSITORY / f"deploy/helm/spillway/examples/{example}.yaml").read_text())
        assert values["models"][0]["engine"]["image"]["tag"].endswith(f"-sglang{PINNED}")
