"""Recorded traces: when requests came, and how many tokens their prompts and answers had. No text.

Two forms of CSV: `arrival,prompt_tokens,output_tokens` with arrivals in seconds, and that of the Azure LLM inference
traces, `TIMESTAMP,ContextTokens,GeneratedTokens` (published with Splitwise and DynamoLLM in the repository
Azure/AzurePublicDataset; not shipped here).
"""

import csv
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from gateway.simulator.engine import Job

OWN = ("arrival", "prompt_tokens", "output_tokens")
AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


class TraceError(ValueError):
    """A file that is no trace. The message names the file and the line."""


def read(path: Path, seed: int, speed: float = 1.0) -> Iterator[tuple[float, Job]]:
    """The requests of a trace, from second 0 on, `speed` times as fast as they were recorded.

    They are read as they are needed. A request that had no answer (0 tokens) counts as one token.

    Raises:
        TraceError: while reading, at a line that is not in order or is none.
    """
    random = Random(f"trace {seed}")
    first = last = None
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            columns = _columns(path, rows.fieldnames)
            for row in rows:
                try:
                    at = _seconds(row[columns[0]])
                    prompt, output = int(row[columns[1]]), int(row[columns[2]])
                except (TypeError, ValueError) as error:
                    raise TraceError(f"{path}:{rows.line_num}: is not {', '.join(columns)}") from error
                if first is None or last is None:
                    first = last = at
                if at < last or prompt < 0 or output < 0:
                    raise TraceError(f"{path}:{rows.line_num}: arrivals must be in order, and tokens 0 or more")
                last = at
                yield (at - first) / speed, Job(prompt, float(max(output, 1)), random.getrandbits(32))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: is not UTF-8 text") from error


def _columns(path: Path, given: object) -> tuple[str, str, str]:
    names = list(given) if isinstance(given, list) else []
    for columns in (OWN, AZURE):
        if set(columns) <= set(names):
            return columns
    raise TraceError(f"{path}:1: has neither the columns {','.join(OWN)} nor {','.join(AZURE)}")


def _seconds(text: str) -> float:
    """Seconds from any fixed point. Azure's timestamps have up to seven decimals, of which six are kept."""
    try:
        seconds = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text.strip())
        # Without an offset it is taken for UTC, which has no hour twice.
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(seconds):
        raise ValueError(text)
    return seconds
