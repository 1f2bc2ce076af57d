"""Writes every dashboard into the chart."""

from dashboards import FOLDER, rendered

FOLDER.mkdir(exist_ok=True)
for name, text in rendered().items():
    (FOLDER / name).write_text(text)
