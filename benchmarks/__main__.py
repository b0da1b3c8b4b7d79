"""`python -m benchmarks`: measures Tidelog and its peers and prints the tables; `updates` does so for changes,
`queries` for questions with constants, `push` for generated code, `push-pipeline` for the memory it saves, `tiers`
for what compiling costs, `yield` for watched rules, `production` for rules that act, `late-news` for what
comes too late for them, `rivals` for other rule engines, `spark` for rules on Spark beside a loop; `fresh-memory`
makes ready the machine that they run on."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CalledProcessError

from benchmarks import (
    fresh_memory,
    production_late,
    production_networks,
    push,
    push_pipeline,
    queries,
    tiers,
    updates,
    yield_tables,
)
from benchmarks.measure import SYSTEMS
from benchmarks.names import one_of, positive
from benchmarks.rivals import table as rivals
from benchmarks.runner import TIDELOG, Settings, run_all
from benchmarks.startup import measure_startup
from benchmarks.table import main_table, order_line, ready_table, startup_table
from benchmarks.workloads import ALL, DEFAULT_DATA, WORKLOADS

START_UP = "startup"
TABLES = (
    *(fresh_memory, updates, queries, push, push_pipeline, tiers, yield_tables),
    *(production_networks, production_late, rivals),
)
OTHER_TABLES = {
    updates.NAME: "what changes cost beside starting over",
    queries.NAME: "what questions cost beside deriving everything",
    push.NAME: "generated code beside batches",
    push_pipeline.NAME: "the memory that it saves",
    tiers.NAME: "what compiling costs",
    yield_tables.NAME: "watched rules beside other indexes",
    production_networks.NAME: "rules that act, by what they retain",
    production_late.NAME: "news that comes too late for them",
    rivals.NAME: "CLIPS and durable_rules",
    "spark": "rules on Spark beside a loop",
    fresh_memory.NAME: "what makes the machine ready",
}
PEERS = [system for system in SYSTEMS if system != TIDELOG]


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed or two systems did not agree."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for table in TABLES:
        if given[:1] == [table.NAME]:
            return table.main(given[1:])
    if given[:1] == ["spark"]:
        from benchmarks import spark  # loads PySpark

        return spark.main(given[1:])
    options = read_options(given)
    names = options.names or [*(workload.name for workload in ALL if not workload.on_request), START_UP]
    settings = Settings(tuple(options.peers), options.jobs, options.repeat, options.data, options.timeout)
    results = list(run_all([WORKLOADS[name] for name in names if name != START_UP], settings))
    complaints = [complaint for result in results for complaint in result.complaints()]
    show(describe_machine(settings))
    if results:
        show(main_table(results, settings.peers))
        show(order_line(results))
        show(ready_table(results, settings.peers))
    if START_UP in names:
        try:
            show(startup_table(measure_startup(settings.repeat)))
        except CalledProcessError as failed:
            complaints.append(f"start-up: the small program failed with exit code {failed.returncode}")
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def show(part: str) -> None:
    if part:
        print(f"{part}\n", flush=True)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures Tidelog beside its peers.",
        epilog="Other tables, each with a --help of its own: "
        + "; ".join(f"`{name}`: {about}" for name, about in OTHER_TABLES.items())
        + ".",
    )
    parser.add_argument(
        "names",
        nargs="*",
        type=one_of([*WORKLOADS, START_UP]),
        metavar="name",
        help=f"workloads, or '{START_UP}' (default: all that do not take minutes): {', '.join(WORKLOADS)}",
    )
    parser.add_argument("--jobs", type=thread_counts, default=(1, 2), help="numbers of threads (default: 1,2)")
    parser.add_argument("--repeat", type=positive, default=3, help="runs of each, of which the median counts")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS, help="systems to compare with")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that one run may take")
    return parser.parse_args(arguments)


def thread_counts(text: str) -> tuple[int, ...]:
    return tuple(positive(part) for part in text.split(","))


def describe_machine(settings: Settings) -> str:
    """One line that says where the figures come from."""
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
        f"medians of {settings.repeat}, warm kernel cache, seconds and MB (10⁶ bytes)"
    )


if __name__ == "__main__":
    sys.exit(main())
