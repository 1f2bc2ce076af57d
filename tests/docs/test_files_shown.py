"""Every YAML block on the pages is a valid configuration: a whole file, or a section that completes one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config import load_config
from tests.docs.markdown import Block, all_blocks

SHOWN = all_blocks("yaml")
POOL = {"discovery": {"static": ["http://10.0.0.1:30000"]}}


def completed(shown: dict[str, Any]) -> dict[str, Any]:
    """The shown part within the least that it needs around it."""
    if "models" in shown:
        return shown
    if "engine_load" in shown:
        return {"models": [{"name": "shown", "pools": {"speculative": {**POOL, **shown}}}]}
    model = {"name": "shown", "pools": {"speculative": POOL, "baseline": POOL}}
    if "policy" in shown:
        return {"models": [{**model, **shown}]}
    return {"models": [model], **shown}


@pytest.mark.parametrize("block", SHOWN, ids=[block.id for block in SHOWN])
def test_it_is_valid(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "shown.yaml"
    path.write_text(yaml.safe_dump(completed(yaml.safe_load(block.text))))
    load_config(path, {})


def test_there_are_some() -> None:
    assert len([block for block in SHOWN if block.file_name]) >= 2
