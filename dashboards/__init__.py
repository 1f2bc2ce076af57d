"""The Grafana dashboards of the chart, as code: `python -m dashboards` writes their JSON."""

from dashboards.grafana import Dashboard
from dashboards.write import ALL, FOLDER, rendered

__all__ = ["ALL", "FOLDER", "Dashboard", "rendered"]
