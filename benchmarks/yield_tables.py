"""`python -m benchmarks yield`: what the yield index touches beside other structures, how large it is and how fast."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.generators import Rows
from benchmarks.table import markdown
from benchmarks.yield_workloads import SIZES, UC, WORKLOADS, YieldWorkload
from tidelog.activation.baselines import JoinIndex, Structure
from tidelog.activation.codes import Codes
from tidelog.activation.protocol import Accesses, ActivationIndex, Arrivals, IndexSize
from tidelog.activation.watch_rule import WatchRule
from tidelog.activation.watch_text import watchable
from tidelog.activation.watcher import Watcher
from tidelog.activation.yield_index import YieldIndex
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.kernels import jit
from tidelog.language.parser import parse

NAME = "yield"
OURS = "yield"
BATCH = 1_000
FEW = 10_000
"""Tuples of each relation where a thousand rules read every one."""

IN_BATCHES, ONE_BY_ONE = 1_000_000, 50_000
"""The least tuples per second on UC."""

MAKERS: dict[str, Callable[[], ActivationIndex]] = {
    **{structure.value: lambda structure=structure: JoinIndex(Codes(), structure) for structure in Structure},
    OURS: lambda: YieldIndex(Codes()),
}


@dataclass(frozen=True, slots=True)
class Counts:
    """What one structure touched on one workload: for all stored tuples, then for the inserted half."""

    matches: int
    base: Accesses
    inserted: Accesses
    size: IndexSize


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when structures disagree, or one with an index searches less often than the yield index."""
    options = read_options(arguments)
    complaints: list[str] = []
    for name in options.names or list(WORKLOADS):
        for size in options.sizes:
            counts = {made: count(MAKERS[made], WORKLOADS[name], SIZES[size]) for made in MAKERS}
            print(f"{name}, {SIZES[size]:,} tuples in each relation, {counts[OURS].matches:,} matches\n")
            print(markdown(HEADINGS, [cells(made, found) for made, found in counts.items()]), end="\n\n", flush=True)
            complaints += judge(f"{name}_{size}", counts)
    if not options.names or UC.name in options.names:
        print(markdown(("UC, half of near inserted", "tuples per second", "goal"), list(throughput())), end="\n\n")
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


HEADINGS = (
    *("structure", "searches, base", "tuples, base", "searches, inserted", "entries, inserted", "tuples, inserted"),
    *("index entries", "MB"),
)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures the yield index.")
    parser.add_argument("names", nargs="*", choices=[*WORKLOADS, []], metavar="name", help=", ".join(WORKLOADS))
    parser.add_argument("--sizes", nargs="*", choices=list(SIZES), default=list(SIZES), help="s: 50,000, l: 100,000")
    return parser.parse_args(arguments)


def count(make: Callable[[], ActivationIndex], workload: YieldWorkload, size: int) -> Counts:
    """What a structure touches when half of a relation is inserted, and when all matches are asked for afterwards."""
    index = make()
    checked, rules = read(workload)
    numbers = {name: index.add_relation(schema) for name, schema in checked.schemas.items() if name != "result"}
    rule = index.add_rule(rules[0])
    tuples = workload.tuples(size)
    for name, rows in tuples.items():
        index.apply(arrivals(numbers[name], rows[len(rows) // 2 :] if name == workload.inserted else rows))
    built = index.accesses()
    index.apply(arrivals(numbers[workload.inserted], tuples[workload.inserted][: size // 2]))
    inserted = difference(index.accesses(), built)
    before = index.accesses()
    matches = len(index.matches(rule))
    return Counts(matches, difference(index.accesses(), before), inserted, index.size())


def read(workload: YieldWorkload) -> tuple[CheckedProgram, tuple[WatchRule, ...]]:
    checked = check(parse(workload.text))
    return checked, watchable([rule for part in checked.strata for rule in part.rules], checked.texts)


def arrivals(relation: int, rows: Rows) -> Arrivals:
    """Rows that come, two columns wide."""
    wide = np.zeros((len(rows), 2), np.int64)
    wide[:, : rows.shape[1]] = rows
    return Arrivals(np.full(len(rows), relation, np.int32), np.ones(len(rows), np.int8), wide)


def difference(after: Accesses, before: Accesses) -> Accesses:
    return Accesses(after.searches - before.searches, after.entries - before.entries, after.tuples - before.tuples)


def cells(name: str, counts: Counts) -> list[str]:
    base, inserted = counts.base, counts.inserted
    figures = (base.searches, base.tuples, inserted.searches, inserted.entries, inserted.tuples, counts.size.entries)
    return [name, *(f"{figure:,}" for figure in figures), f"{counts.size.bytes / 1e6:.1f}"]


def judge(title: str, counts: dict[str, Counts]) -> Iterator[str]:
    """What must not be: other matches, or fewer searches by a structure that has an index to search for each join."""
    ours = counts[OURS]
    for name, found in counts.items():
        if found.matches != ours.matches:
            yield f"{title}: {name} finds {found.matches:,} matches, not {ours.matches:,}"
        if name in (Structure.ALL_COLUMNS.value, Structure.FILTERS.value, Structure.ORDERED.value):
            if found.inserted.searches < ours.inserted.searches:
                yield f"{title}: {name} searches {found.inserted.searches:,} times, yield {ours.inserted.searches:,}"
            if found.inserted.tuples < ours.inserted.tuples:
                yield f"{title}: {name} reads {found.inserted.tuples:,} tuples, yield {ours.inserted.tuples:,}"


def throughput() -> Iterator[list[str]]:
    """Tuples per second on UC, for one rule and for a thousand that share its relations."""
    jit.use_compiled()
    for rules in (1, 1_000):
        in_batches(rules)  # compiles
        rate = max(in_batches(rules) for _ in range(3 if rules == 1 else 1))
        goal = f"≥ {IN_BATCHES:,} {'ok' if rate >= IN_BATCHES else 'MISSED'}" if rules == 1 else ""
        yield [f"{rules:,} rules, batches of {BATCH:,}", f"{rate:,.0f}", goal]
        if rules > 1:
            yield ["… for each affected rule", f"{rate * rules:,.0f}", "at most 3 times slower than one rule alone"]
    rate = max(one_by_one() for _ in range(3))
    goal = f"≥ {ONE_BY_ONE:,} {'ok' if rate >= ONE_BY_ONE else 'MISSED'}"
    yield ["1 rule, one by one from Python", f"{rate:,.0f}", goal]


def in_batches(rules: int) -> float:
    watcher, rows = loaded(rules)
    batches = [arrivals(watcher.index.relations["near"], rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
    start = perf_counter()
    for batch in batches:
        watcher.apply(batch)
    return len(rows) / (perf_counter() - start)


def one_by_one() -> float:
    watcher, rows = loaded(1)
    given = [tuple(row) for row in rows[:20_000].tolist()]
    start = perf_counter()
    for row in given:
        watcher.insert("near", row)
    return len(given) / (perf_counter() - start)


def loaded(rules: int) -> tuple[Watcher, Rows]:
    """A watcher with everything but half of `near`, and that half."""
    watcher = Watcher()
    checked, found = read(UC)
    tuples = UC.tuples(SIZES["l"] if rules == 1 else FEW)
    half = len(tuples["near"]) // 2
    for schema in checked.schemas.values():
        watcher.add_relation(schema)
    for _ in range(rules):
        watcher.add_watch(found, checked.schemas["result"].kinds)
    for name, rows in tuples.items():
        watcher.apply(arrivals(watcher.index.relations[name], rows[half:] if name == "near" else rows))
    return watcher, tuples["near"][:half]
