"""Recorded traces: when requests came, and how many tokens their prompts and answers had. No text.

Two forms of CSV: `arrival,prompt_tokens,output_tokens` with arrivals in seconds, and that of the Azure LLM inference
traces, `TIMESTAMP,ContextTokens,GeneratedTokens` (published with Splitwise and DynamoLLM in the repository
Azure/AzurePublicDataset; not shipped here).
"""

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TypeVar

from gateway.simulator.engine import Job

T = TypeVar("T")
_NUMBER = re.compile(r"[0-9]+")
OWN = ("arrival", "prompt_tokens", "output_tokens")
AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
# Far above any model's context, and far below where sums of floats lose single tokens.
MOST_TOKENS = 1_000_000_000
# A century: seconds since 1970 fit in.
_MOST_SECONDS = 100 * 366 * 86400.0


class TraceError(ValueError):
    """A file that is no trace. The message names the file, the line and, where it is one value, the field."""


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
                    at = _value(row, columns[0], _seconds)
                    prompt, output = (_value(row, name, _tokens) for name in columns[1:])
                    if first is None or last is None:
                        first = last = at
                    if at < last:
                        raise ValueError(f"{columns[0]}: is earlier than the line before")
                    if at - first > _MOST_SECONDS:
                        raise ValueError(f"{columns[0]}: is more than 100 years after the first")
                except ValueError as error:
                    raise TraceError(f"{path}:{rows.line_num}: {error}") from error
                last = at
                yield (at - first) / speed, Job(prompt, float(max(output, 1)), random.getrandbits(32))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    except csv.Error as error:
        raise TraceError(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: is not UTF-8 text") from error


def _columns(path: Path, given: object) -> tuple[str, str, str]:
    names = list(given) if isinstance(given, list) else []
    for columns in (OWN, AZURE):
        if set(columns) <= set(names):
            return columns
    raise TraceError(f"{path}:1: has neither the columns {','.join(OWN)} nor {','.join(AZURE)}")


def _value(row: Mapping[str, str | None], name: str, read: Callable[[str], T]) -> T:
    """One field of a line. Raises ValueError with its name and the reason."""
    text = row[name]
    if text is None:
        raise ValueError(f"{name}: is missing")
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{name}: {text[:40]!r} {error}") from None


def _tokens(text: str) -> int:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError("is no whole number of tokens")
    # By its length first: Python reads no number of thousands of digits.
    if len(text.strip().lstrip("0")) > len(str(MOST_TOKENS)) or int(text) > MOST_TOKENS:
        raise ValueError(f"is more than {MOST_TOKENS:,} tokens")
    return int(text)


def _seconds(text: str) -> float:
    """Seconds from any fixed point. Azure's timestamps have up to seven decimals, of which six are kept."""
    try:
        seconds = float(text)
    except ValueError:
        moment = _moment(text.strip())
        # Without an offset it is taken for UTC, which has no hour twice.
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(seconds):
        raise ValueError("is no finite number of seconds")
    return seconds


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is neither seconds nor a date and time as ISO 8601 has them") from None
