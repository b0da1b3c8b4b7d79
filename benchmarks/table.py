"""Results as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.measurement import Measurement
from benchmarks.runner import TIDELOG, Outcome, Result
from benchmarks.startup import StartUp
from benchmarks.workloads import ORDER_GOAL

NAMES = {TIDELOG: "Tidelog", "duckdb": "DuckDB"}
ABSENT = "–"


def main_table(results: Sequence[Result], peers: Sequence[str]) -> str:
    """Seconds to load and evaluate, peak memory and what more threads give, for each system, beside the goals."""
    systems = (TIDELOG, *peers)
    header = ["workload", "threads", "rows derived"]
    header += [f"{NAMES[system]} {part} s" for system in systems for part in ("load", "eval")]
    header += [f"Tidelog / {NAMES[peer]}" for peer in peers] + ["goal"]
    header += [f"{NAMES[system]} MB" for system in systems] + ["MB goal"]
    header += [f"{NAMES[system]} speed-up" for system in systems]
    single = {result.workload.name: result for result in results if result.threads == 1}
    return markdown(header, [main_row(result, single.get(result.workload.name), peers) for result in results])


def main_row(result: Result, single: Result | None, peers: Sequence[str]) -> list[str]:
    workload, systems = result.workload, (TIDELOG, *peers)
    own = result.summary(TIDELOG)
    row = [workload.name, str(result.threads), f"{sum(workload.counts.values()):,}"]
    for system in systems:
        row += [load_seconds(result.summary(system)), evaluation_seconds(result.summary(system))]
    row += [figure(ratio(own, result.summary(peer))) for peer in peers]
    row.append(verdict(ratio(own, result.summary("duckdb")), workload.goal) if result is single else "")
    row += [megabytes(result.summary(system)) for system in systems]
    taken = own.peak_bytes / 1e6 if isinstance(own, Measurement) else None
    row.append(verdict(taken, workload.megabytes) if result is single else "")
    return row + [speed_up(result, single, system) for system in systems]


def ready_table(results: Sequence[Result], peers: Sequence[str]) -> str:
    """Seconds from the start of the interpreter's work until each system was ready, kernels compiled and not."""
    systems = (TIDELOG, *peers)
    header = ["workload", "threads", "cold compile s", *(f"{NAMES[system]} ready s" for system in systems)]
    rows = []
    for result in results:
        ready = [ready_seconds(result.summary(system)) for system in systems]
        rows.append([result.workload.name, str(result.threads), cold_seconds(result), *ready])
    return markdown(header, rows)


def startup_table(figures: Iterable[StartUp]) -> str:
    """Seconds until Tidelog answers, beside their goals."""
    return markdown(
        ["start-up", "seconds", "goal"],
        [[start.name, f"{start.seconds:.3f}", verdict(start.seconds, start.goal)] for start in figures],
    )


def order_line(results: Iterable[Result]) -> str:
    """How much the order of a body's atoms matters: lubm against lubm_ord. Empty unless both were run."""
    by_name = {result.workload.name: result.summary(TIDELOG) for result in results if result.threads == 1}
    badly = ratio(by_name.get("lubm"), by_name.get("lubm_ord"))
    if badly is None:
        return ""
    return (
        f"lubm (bodies badly ordered) / lubm_ord: {badly:.2f}, either way {verdict(max(badly, 1 / badly), ORDER_GOAL)}"
    )


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are figures."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def ratio(one: Outcome | None, other: Outcome | None) -> float | None:
    """How many times the evaluation of `other` that of `one` took; None unless both were measured."""
    if isinstance(one, Measurement) and isinstance(other, Measurement):
        return one.evaluation_seconds / other.evaluation_seconds
    return None


def verdict(value: float | None, goal: float | None) -> str:
    """The goal and whether `value` keeps it; empty where there is no goal."""
    if goal is None:
        return ""
    if value is None:
        return f"≤ {goal:g}"
    return f"≤ {goal:g} {'met' if value <= goal else 'MISSED'}"


def load_seconds(outcome: Outcome | None) -> str:
    return f"{outcome.load_seconds:.3f}" if isinstance(outcome, Measurement) else ABSENT


def evaluation_seconds(outcome: Outcome | None) -> str:
    """Seconds, or why there are none."""
    if isinstance(outcome, Measurement):
        return f"{outcome.evaluation_seconds:.3f}"
    return outcome.short if outcome else ABSENT


def ready_seconds(outcome: Outcome | None) -> str:
    return f"{outcome.ready_seconds:.2f}" if isinstance(outcome, Measurement) else ABSENT


def cold_seconds(result: Result) -> str:
    """How much longer than the later ones the first run took: the price of kernels not compiled yet."""
    warm = result.summary(TIDELOG)
    if isinstance(result.first, Measurement) and isinstance(warm, Measurement):
        return f"{max(0.0, result.first.seconds - warm.seconds):.2f}"
    return ABSENT


def megabytes(outcome: Outcome | None) -> str:
    return f"{outcome.peak_bytes / 1e6:.0f}" if isinstance(outcome, Measurement) else ABSENT


def speed_up(result: Result, single: Result | None, system: str) -> str:
    """How many times faster than with one thread; empty in the line of one thread."""
    if single is None or single is result:
        return ""
    return figure(ratio(single.summary(system), result.summary(system)))


def figure(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.2f}"
