"""RESULTS.md."""

from collections.abc import Sequence
from pathlib import Path

from bench import machine, plot, proxies
from bench.cells import HEADS, cells, memory_points, quietness
from bench.engine import CHUNKS, GAP_US
from bench.measure import BUSY, LIGHT, PEAK, STREAMED
from bench.run import Results
from bench.targets import event, light_request, ratio, request, verdicts

METHOD = """\
- Behind every proxy: two fake engines with the same settings (`engine.c`), {chunks} events {gap:g} ms apart and
  `[DONE]` for a stream, {gap:g} ms for a whole completion. In front: wrk, one thread, connections kept alive.
- All proxies are up at once; after a warm-up the load goes to one at a time, in {repeats} rounds, each beginning with
  another proxy. Figures are medians of the rounds (lowest to highest).
- CPU is the kernel's count for the proxy's process tree, user and system, in nanoseconds. Per request: whole
  completions, {busy} connections, and, as the light load, {light}. Per event: {streamed} streams at a time; what they
  cost beyond their requests, over the events that the engines wrote (a usage event that a proxy withholds is not
  counted). Streams and the light load stay below saturation: a saturated proxy reads several events at once and looks
  cheaper than it is. Under the light load it sleeps between requests, and each finds cold caches.
- p50 and p99: of whole completions at {light} connections, and of whole streams at {streamed}, the engine's own time
  included (first row).
- Requests/s, at most: {peak} connections. The proxy shares the cores with wrk and the engines.
- Memory is resident, from before the warm-up to the end; and once more for Spillway alone, fresh, over {memory:,}
  streams.
- Spillway routes by load over two pools, counts leases and metrics and writes its access log. vllm-router does the like
  in the row that the targets compare with, and stands once more tuned to do as little as it can. The other proxies
  write no access log.
- `spillway` runs on an interpreter that was built with profile-guided optimisation, as that of the container image is
  and those of Debian, Ubuntu and Fedora are. `spillway-venv` is the same code on the interpreter of `.venv`, whatever
  that is: pyenv, for one, builds without unless told otherwise.
- Compare within one run only."""


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ratios(results: Results) -> str:
    rows = []
    for name in results.rows:
        ratios = [ratio(results, name, of) for of in (request, light_request, event)]
        if name != "spillway" and all(ratios):
            rows.append((name, *(f"{value:.2f}x" for value in ratios)))
    heads = ("Spillway over", "CPU per request", "the same, light load", "CPU per event")
    return _markdown(heads, rows) if rows else ""


def _method(results: Results) -> str:
    return METHOD.format(
        chunks=CHUNKS,
        gap=GAP_US / 1000,
        repeats=results.plan.repeats,
        busy=BUSY.connections,
        light=LIGHT.connections,
        streamed=STREAMED.connections,
        peak=PEAK.connections,
        memory=results.plan.memory_streams,
    )


def _machine(results: Results) -> str:
    facts = {**machine.describe(), "the run took": f"{results.wall_seconds / 60:.1f} minutes"}
    return "\n".join(f"- {key}: {value}" for key, value in facts.items()) + f"\n\n{quietness(results)}"


def write(results: Results, folder: Path) -> Path:
    """Write the page and its picture; returns the page's path."""
    plot.draw(results, folder / "results.png")
    checks = [(verdict.text, verdict.figure or "-", verdict.word) for verdict in verdicts(results)]
    setups = [(name, version, proxies.ALL[name].setup) for name, version in results.versions.items()]
    sections = {
        "Targets": _markdown(("target", "measured", "verdict"), checks),
        "Figures": _markdown(HEADS, [cells(row) for row in results.rows.values()]),
        "Ratios": _ratios(results),
        "Spillway's memory": memory_points(results),
        "Method": _method(results),
        "What ran": _markdown(("proxy", "version", "set up as"), setups),
        "Machine": _machine(results),
    }
    opening = "# What relaying costs\n\nWritten by `make bench`.\n\n![The figures as a picture](results.png)\n"
    body = "".join(f"\n## {title}\n\n{text}\n" for title, text in sections.items() if text)
    path = folder / "RESULTS.md"
    path.write_text(opening + body)
    return path
