"""A status as text for people."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from gateway.status.shape import Adaptive, Model, Pool, Redis, Replica, Status

T = TypeVar("T")


class Column(NamedTuple, Generic[T]):
    """`text` columns stand left, numbers right."""

    name: str
    cell: Callable[[T], str]
    text: bool = False


def text(status: Status, most: int) -> str:
    """The whole page; of each pool at most `most` replicas, 0 for all."""
    lines = [_gateway(status)]
    if status.redis is not None:
        lines.append(_redis(status.redis))
    for model in status.models:
        lines += ["", *_model(model, status.redis, most)]
    if not status.models:
        lines += ["", "no models"]
    return "\n".join(map(_printable, lines)) + "\n"


def _gateway(status: Status) -> str:
    name = "" if status.gateway is None else f", gateway {status.gateway}"
    return f"spillway {status.version}{name}, {'draining' if status.draining else 'serving'}"


def _redis(redis: Redis) -> str:
    where = ", ".join(part for part in (redis.mode, redis.address) if part)
    error = f": {redis.error}" if redis.error else ""
    return f"redis {redis.state}{_since(redis.since)}{f' ({where})' if where else ''}{error}"


def _model(model: Model, redis: Redis | None, most: int) -> Iterator[str]:
    yield f"model {model.name}" + (f", also {', '.join(model.aliases)}" if model.aliases else "")
    yield f"  policy  {_policy(model)}"
    if model.adaptive is not None:
        yield from _adaptive(model.adaptive)
    yield f"  counts  {_counts(model, redis)}"
    yield f"  queue   {model.queued} waiting{' here' if redis else ''}"
    yield ""
    yield from _rows(_pool_columns(model, redis), list(model.pools.items()))
    for role, pool in model.pools.items():
        if pool.replicas:
            yield ""
            yield from _replicas(role, pool, redis, most)


def _policy(model: Model) -> str:
    policy = model.policy
    kind = str(policy.get("kind", "unknown"))
    if kind == "pinned":
        return f"pinned to {policy.get('pool')}"
    if kind != "threshold":
        return ", ".join((kind, *_plain(policy)))
    said = f"threshold {policy.get('threshold')} per ready speculative replica, mode {policy.get('mode')}"
    if "high" in policy:
        said += f": {'high, to the baseline' if policy['high'] else 'low, to the speculative'} pool"
    return said


def _adaptive(adaptive: Adaptive) -> Iterator[str]:
    known = "no crossover known" if adaptive.crossover is None else f"crossover at {adaptive.crossover} on a replica"
    decided = f"decided the last by: {adaptive.mode.replace('_', ' ')}" if adaptive.mode else "nothing decided yet"
    yield f"  now     {decided}; {known}"
    for role, pool in adaptive.pools.items():
        if not pool.curve:
            yield f"  learned {role}: nothing yet"
            continue
        ends = [pool.curve[0], *pool.curve[1:][-1:]]
        rates = ", ".join(f"{point.rate:.4g} at {point.inflight}" for point in ends)
        age = "" if pool.age is None else f", the last {pool.age:.0f} s ago"
        yield f"  learned {role}: tokens/s of a request {rates} on a replica, from {pool.requests} requests{age}"


def _plain(policy: dict[str, Any]) -> Iterator[str]:
    """The single values of a policy that is not known here."""
    for name, value in policy.items():
        if isinstance(value, str | int | float) and name not in ("kind", "allow_pinning"):
            yield f"{name} {str(value).lower() if isinstance(value, bool) else value}"


def _counts(model: Model, redis: Redis | None) -> str:
    if model.source == "redis":
        return f"of {_gateways(model.gateways)} together, by Redis{_since(model.since)}"
    if redis is None:
        return "of this gateway alone"
    share = ", which keeps to its share of the limits" if model.gateways > 1 else ""
    return f"of this gateway alone{_since(model.since)}{share}; {_gateways(model.gateways)} known"


def _gateways(count: int) -> str:
    return f"{count} gateway{'' if count == 1 else 's'}"


def _pool_columns(model: Model, redis: Redis | None) -> Sequence[Column[tuple[str, Pool]]]:
    columns: list[Column[tuple[str, Pool]]] = [
        Column("pool", lambda row: row[0], text=True),
        Column("in flight", lambda row: str(row[1].inflight)),
    ]
    if redis is not None:
        columns.append(Column("here", lambda row: _number(row[1].inflight_here)))
    if any(replica.engine_load for pool in model.pools.values() for replica in pool.replicas):
        columns.append(Column("outside", lambda row: str(row[1].outside)))
    columns.append(Column("limit", lambda row: str(row[1].limit)))
    if redis is not None and model.source != "redis":
        columns.append(Column("share", lambda row: _number(row[1].share)))
    columns.append(Column("ready", lambda row: f"{row[1].ready} of {len(row[1].replicas)}"))
    return columns


def _replicas(role: str, pool: Pool, redis: Redis | None, most: int) -> Iterator[str]:
    """Those in trouble first, then the busiest."""
    ranked = sorted(pool.replicas, key=lambda replica: (replica.state == "ready", -_held(replica), replica.url))
    shown = ranked[: most or None]
    columns: list[Column[Replica]] = [
        Column(f"{role} replica", lambda replica: replica.url, text=True),
        Column("in flight", lambda replica: str(replica.inflight)),
    ]
    if redis is not None:
        columns.append(Column("here", lambda replica: _number(replica.inflight_here)))
    if any(replica.engine_load for replica in pool.replicas):
        columns.append(Column("outside", _outside))
    columns.append(Column("state", _state, text=True))
    yield from _rows(columns, shown)
    if rest := ranked[len(shown) :]:
        states = Counter(replica.state for replica in rest)
        yield f"  … {len(rest)} more: {', '.join(f'{count} {state}' for state, count in states.items())}"


def _held(replica: Replica) -> int:
    return replica.inflight + replica.outside


def _outside(replica: Replica) -> str:
    if replica.engine_load is None:
        return "-"
    return "?" if replica.engine_load.count is None else str(replica.outside)


def _state(replica: Replica) -> str:
    said = replica.state + (f": {replica.error}" if replica.error else "")
    if replica.engine_load is not None and replica.engine_load.error:
        said += f"; its own load unknown: {replica.engine_load.error}"
    return said


def _number(count: int | None) -> str:
    return "-" if count is None else str(count)


def _since(moment: str | None) -> str:
    if moment is None:
        return ""
    try:
        return f" since {datetime.fromisoformat(moment):%Y-%m-%d %H:%M:%S %Z}".rstrip()
    except ValueError:
        return f" since {moment}"


def _rows(columns: Sequence[Column[T]], items: Sequence[T]) -> Iterator[str]:
    lines = [[column.name for column in columns], *([column.cell(item) for column in columns] for item in items)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.ljust(width) if column.text else cell.rjust(width)
            for column, cell, width in zip(columns, line, widths, strict=True)
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _printable(line: str) -> str:
    """Names and errors come from elsewhere: none of them steers the terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)
