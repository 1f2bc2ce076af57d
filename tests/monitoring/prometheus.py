"""A real Prometheus that scrapes every second, and asks itself what a dashboard or an alert would."""

import math
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

START_SECONDS = 60.0
Sample = tuple[dict[str, str], float]
Target = tuple[str, dict[str, str]]  # host:port, labels


class Prometheus:
    """A server process in a folder of its own. `rules` are groups of the kind that a PrometheusRule holds."""

    def __init__(self, folder: Path, targets: Sequence[Target], rules: Sequence[dict[str, Any]] = ()) -> None:
        # Bound but never listening: keeps others off the port until the process has bound it too.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{self._reserved.getsockname()[1]}"
        (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": list(rules)}))
        settings = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [
                {
                    "job_name": "spillway",
                    "static_configs": [{"targets": [target], "labels": labels} for target, labels in targets],
                }
            ],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
        self._log = (folder / "prometheus.log").open("w+")
        command = [
            "prometheus",
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={url}",
            "--query.lookback-delta=30s",
            "--log.level=warn",
            "--enable-feature=exemplar-storage",
        ]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        self._http = httpx.Client(base_url=f"http://{url}", trust_env=False, timeout=20)

    def wait_up(self, targets: int) -> None:
        """Waits until every target has been scraped."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                ready = self._http.get("/-/ready").status_code == 200
                if ready and sum(value for _, value in self.ask("up")) == targets:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.2)
        self._log.seek(0)
        raise AssertionError(f"Prometheus has not scraped {targets} targets: {self._log.read()}")

    def ask(self, query: str) -> list[Sample]:
        """What an expression gives now, in finite numbers. Raises AssertionError with what is said of a bad one."""
        answer = self._http.post("/api/v1/query", data={"query": query})
        assert answer.status_code == 200, f"{query}: {answer.text}"
        found = [(item["metric"], float(item["value"][1])) for item in answer.json()["data"]["result"]]
        return [(labels, value) for labels, value in found if math.isfinite(value)]

    def exemplars(self, query: str) -> list[dict[str, str]]:
        """The labels of the exemplars of the last minute."""
        now = time.time()
        answer = self._http.post("/api/v1/query_exemplars", data={"query": query, "start": now - 60, "end": now})
        series = answer.raise_for_status().json()["data"]
        return [exemplar["labels"] for each in series for exemplar in each["exemplars"]]

    def firing(self) -> dict[str, list[dict[str, str]]]:
        """The labels of each alert that fires, by its name."""
        alerts = self._http.get("/api/v1/alerts").raise_for_status().json()["data"]["alerts"]
        found: dict[str, list[dict[str, str]]] = {}
        for alert in alerts:
            if alert["state"] == "firing":
                found.setdefault(alert["labels"]["alertname"], []).append(alert["labels"])
        return found

    def until(self, holds: Callable[[], object], describe: Callable[[], object], seconds: float = 40.0) -> None:
        """Polls a condition. Raises AssertionError with the description after the deadline."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, describe()
            time.sleep(0.3)

    def close(self) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.wait(20)
        self._http.close()
        self._log.close()
        self._reserved.close()


@contextmanager
def prometheus(folder: Path, targets: Sequence[Target], rules: Sequence[dict[str, Any]] = ()) -> Iterator[Prometheus]:
    """A started one, every target scraped once."""
    running = Prometheus(folder, targets, rules)
    try:
        running.wait_up(len(targets))
        yield running
    finally:
        running.close()
