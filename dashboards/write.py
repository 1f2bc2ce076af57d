"""The dashboards and where they lie."""

import json
from pathlib import Path

from dashboards.engines import engines
from dashboards.gateway import gateway
from dashboards.grafana import Dashboard
from dashboards.overview import overview
from dashboards.speculation import speculation

FOLDER = Path(__file__).resolve().parent.parent / "deploy" / "helm" / "spillway" / "dashboards"
ALL: tuple[Dashboard, ...] = (overview(), speculation(), engines(), gateway())


def rendered() -> dict[str, str]:
    """Each file's text by its name."""
    return {f"{board.name}.json": json.dumps(board.model(), indent=2) + "\n" for board in ALL}
