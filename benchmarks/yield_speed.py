"""How many tuples a second a watcher takes on UC: in micro-batches and one by one, with a rule and with a thousand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from time import process_time

from benchmarks.generators import Rows
from benchmarks.table import markdown
from benchmarks.yield_arrivals import arrivals, read
from benchmarks.yield_workloads import SIZES, UC, YieldWorkload
from tidelog.activation.watcher import Watcher
from tidelog.kernels import jit

BATCH = 1_000
FEW = 10_000
"""Tuples of each relation where a thousand rules read every one."""

REPEATS = 5
IN_BATCHES, ONE_BY_ONE = 1_000_000, 50_000
"""The least tuples per second."""

DENSE = replace(UC, tuples=partial(UC.tuples, share=1.0))
"""UC with every tuple of `use` taken from `near`: ten times as many matches."""


def throughput() -> str:
    """Tuples per second of one processor's time, the best of some runs."""
    jit.use_compiled()
    return markdown(("UC, half of near inserted", "tuples per processor second", "goal"), list(rates()))


def rates() -> Iterator[list[str]]:
    for name, workload in (("", UC), (", every use near", DENSE)):
        rate = max(in_batches(workload, 1) for _ in range(REPEATS + 1))
        yield [f"1 rule, batches of {BATCH:,}{name}", f"{rate:,.0f}", goal(rate, IN_BATCHES)]
    few = max(in_batches(UC, 1, FEW) for _ in range(REPEATS))
    many = max(in_batches(UC, 1_000, FEW) for _ in range(2))
    yield ["1,000 rules", f"{many:,.0f}", ""]
    slower = few / (many * 1_000)
    yield ["… for each rule", f"{many * 1_000:,.0f}", f"{slower:.2f} times as long as one, {at_most(slower, 3)}"]
    rate = max(one_by_one() for _ in range(REPEATS))
    yield ["1 rule, one by one from Python", f"{rate:,.0f}", goal(rate, ONE_BY_ONE)]


def in_batches(workload: YieldWorkload, rules: int, size: int = SIZES["l"]) -> float:
    watcher, rows = loaded(workload, rules, size)
    batches = [arrivals(watcher.index.relations["near"], rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
    start = process_time()
    for batch in batches:
        watcher.apply(batch)
    return len(rows) / (process_time() - start)


def one_by_one() -> float:
    watcher, rows = loaded(UC, 1, SIZES["l"])
    given = [tuple(row) for row in rows[:20_000].tolist()]
    start = process_time()
    for row in given:
        watcher.insert("near", row)
    return len(given) / (process_time() - start)


def loaded(workload: YieldWorkload, rules: int, size: int) -> tuple[Watcher, Rows]:
    """A watcher with everything but half of `near`, and that half."""
    watcher = Watcher()
    checked, found = read(workload)
    tuples = workload.tuples(size)
    half = len(tuples["near"]) // 2
    for schema in checked.schemas.values():
        watcher.add_relation(schema)
    for _ in range(rules):
        watcher.add_watch(found, checked.schemas["result"].kinds)
    for name, rows in tuples.items():
        watcher.apply(arrivals(watcher.index.relations[name], rows[half:] if name == "near" else rows))
    return watcher, tuples["near"][:half]


def goal(rate: float, least: int) -> str:
    return f"≥ {least:,} {'ok' if rate >= least else 'MISSED'}"


def at_most(value: float, most: int) -> str:
    return f"≤ {most} {'ok' if value <= most else 'MISSED'}"
