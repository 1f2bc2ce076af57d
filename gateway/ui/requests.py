"""Requests as the page shows them."""

import time
from collections.abc import Iterable
from statistics import median
from typing import Any

from gateway.telemetry import Record


def shown(record: Record, now: float) -> dict[str, Any]:
    """One request; `now` is on the record's clock. `ended` is null while it runs. Never any text of it."""
    done, first = record.done, record.first_byte
    duration = (done or now) - record.started
    return {
        "id": record.id[:64],
        "at": round(time.time() - (now - record.started), 3),
        "model": record.model,
        "pool": record.pool,
        "replica": record.replica,
        "reason": record.reason or record.error,
        "concurrency": record.concurrency,
        "retries": record.retries,
        "ended": record.ended if done else None,
        "status": record.status if done else None,
        "ttft": round(first - record.started, 4) if first else None,
        "duration": round(duration, 3),
        "tokens": record.completion_tokens,
    }


def median_ttft(records: Iterable[Record]) -> dict[tuple[str, str], float]:
    """Seconds, of these records' streams by model and pool."""
    found: dict[tuple[str, str], list[float]] = {}
    for record in records:
        if record.first_byte and record.stream:
            found.setdefault((record.model, record.pool), []).append(record.first_byte - record.started)
    return {where: round(median(values), 4) for where, values in found.items()}
