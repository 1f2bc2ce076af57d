"""The gateway's own process. What prometheus-client exposes of it is described here too."""

from gateway.telemetry.families.family import Chapter, Family, Label, one_of
from gateway.telemetry.families.labels import WHERE

OVERHEAD = Family(
    "spillway_relay_overhead_seconds",
    "histogram",
    "The gateway's own share before the engine has the request: from body read to request sent, less queueing, "
    "connecting and failed attempts.",
    WHERE,
    advice="above a few milliseconds: the process lacks CPU",
    bounds=(0.00005, 0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5),
)
RELOADS = Family(
    "spillway_config_reloads_total",
    "counter",
    "Changes of the configuration that were taken over (applied) or not (refused).",
    (one_of("result", ("applied", "refused")),),
    of="changes",
    advice="after a change",
)
CONFIG_VALID = Family(
    "spillway_config_last_reload_successful",
    "gauge",
    "1 while the file on disk is the one that serves, 0 after a refused one.",
    of="0 or 1",
    advice="alert on 0",
)
LINES_DROPPED = Family(
    "spillway_log_lines_dropped_total",
    "counter",
    "Access log lines lost because standard output was not read.",
    of="lines",
    advice="above 0: the log's reader is too slow",
)
BUILD = Family(
    "spillway_build_info",
    "gauge",
    "Always 1; the version is a label.",
    (Label("version"),),
    of="1",
    advice="after a rollout",
)
_LIBRARY = (
    Family(
        "process_cpu_seconds_total",
        "counter",
        "CPU time of the process.",
        advice="it has one event loop: near 1 s per second is full",
    ),
    Family("process_resident_memory_bytes", "gauge", "Memory of the process, resident.", advice="growth"),
    Family("process_virtual_memory_bytes", "gauge", "Memory of the process, virtual.", advice="growth"),
    Family(
        "process_open_fds",
        "gauge",
        "Open files: two for each request in flight.",
        of="files",
        advice="near the limit",
    ),
    Family("process_max_fds", "gauge", "The most open files there may be.", of="files", advice="near the limit"),
    Family("process_start_time_seconds", "gauge", "When the process started, Unix time.", advice="restarts"),
    Family(
        "python_info",
        "gauge",
        "The interpreter.",
        tuple(map(Label, ("implementation", "major", "minor", "patchlevel", "version"))),
        of="1",
    ),
)

PROCESS = Chapter("The gateway itself", (OVERHEAD, RELOADS, CONFIG_VALID, LINES_DROPPED, BUILD, *_LIBRARY))
