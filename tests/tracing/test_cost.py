"""What `python -m bench.tracing` compares with can still be made."""

import subprocess
import sys

from bench.unhooked import blocked, unhooked


def test_the_hooks_can_be_cut_out() -> None:
    with unhooked() as folder:
        record = (folder / "gateway" / "telemetry" / "record.py").read_text()
        assert "span: Any" not in record
    assert not folder.exists()


def test_the_packages_can_be_hidden() -> None:
    code = "import opentelemetry.sdk"
    with blocked() as folder:
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONPATH": str(folder)}, capture_output=True, text=True
        )
    assert done.returncode == 1
    assert "hidden by bench/unhooked.py" in done.stderr
