"""`python -m benchmarks production`: what each way to retain joins costs production rules.

Ten programs: r1 and r2 of the COSMA paper in sets and by instances, insertions only, deletions only, both, a deep run
of small steps, a wide join of which one part changes, and rules that wait for others. CPU seconds, the median of
several runs in turn, and rows retained at the end.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

import pyarrow as pa

from benchmarks.names import positive
from benchmarks.table import markdown
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.checking import check_program
from tidelog.connectors.frames import to_table
from tidelog.language.parser import parse
from tidelog.plan.retention.network import Retention
from tidelog.production import Result, run_rules
from tidelog.schema import Row

NAME = "production"
COMPARED = (Retention.NONE, Retention.RETE, Retention.TREAT, Retention.ATREAT, Retention.COSMA)

ABC = """
.decl A(x: number, s: symbol, z: number)
.decl B(x: number, y: number, s: symbol)
.decl C(s: symbol, y: number, w: number)
"""
R1 = ABC + '+C("g", x, w), -C("g", y, z) :- A(x, "a", z), B(x, y, "b"), C("g", y, w), x > y.\n'
R2 = ABC + '-B(y, z, "b") :- A(x, "a", z), B(x, y, "b"), C("g", y, w).\n'
R2_FED = (
    R2
    + """
.decl step(n: number)
.decl later(n: number, y: number)
+C("g", y, n), +step(m), -step(n) :- step(n), later(n, y), m = n + 1. [priority -1]
"""
)
REACH = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
+path(x, y) :- edge(x, y).
+path(x, z) :- path(x, y), edge(y, z).
"""
PRUNE = """
.decl needs(x: number, y: number)
.decl there(x: number)
-there(x) :- there(x), needs(x, y), !there(y).
"""
TASKS = """
.decl before(x: number, y: number)
.decl open(x: number)
.decl ready(x: number)
.decl done(x: number)
+ready(y) :- before(x, y), done(x), open(y), !late(y). [priority 1]
+done(x), -open(x), -ready(x) :- ready(x), open(x).
.decl late(x: number)
late(y) :- before(x, y), open(x).
"""
WALK = """
.decl at(x: number)
.decl next(x: number, y: number)
+at(y), -at(x) :- at(x), next(x, y).
"""
STAR = """
.decl a(k: number, x: number)
.decl b(k: number, y: number)
.decl c(k: number, z: number)
.decl turn(n: number)
.decl seen(k: number, n: number)
+seen(k, n) :- a(k, x), b(k, y), c(k, z), x < y, y < z, turn(n).
+turn(m), -turn(n) :- turn(n), seen(_, n), n < 20, m = n + 1.
"""
WAITING = """
.decl offer(k: number, p: number)
.decl wish(k: number, p: number)
.decl next(n: number, m: number)
.decl at(n: number)
.decl sold(k: number, n: number)
+at(m), -at(n), +offer(n, m) :- at(n), next(n, m). [priority 1]
+sold(k, p) :- offer(k, p), wish(k, q), offer(j, q), wish(j, p), j > k.
"""


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    checked: CheckedProgram
    tables: Mapping[str, pa.Table]


def workload(name: str, semantics: str, text: str, facts: Mapping[str, list[Row]]) -> Workload:
    checked = check_program(parse(f".production {semantics}\n{text}"))
    return Workload(name, checked, {key: to_table(rows, checked.schemas[key]) for key, rows in facts.items()})


def workloads() -> Iterator[Workload]:
    """The programs with their facts, the same each time."""
    chance = random.Random(7)
    number = chance.randrange
    yield workload("r1, sets", "set", R1, three_relations(chance, (40_000, 120_000, 10_000), 40_000))
    yield workload("r1, instances", "instance", R1, three_relations(chance, (20_000, 60_000, 200), 20_000))
    fed: dict[str, list[Row]] = {"step": [(0,)], "later": [(n // 20, number(20_000)) for n in range(2_000)]}
    yield workload("r2, sets", "set", R2_FED, {**three_relations(chance, (20_000, 60_000, 5_000), 20_000), **fed})
    yield workload("r2, instances", "instance", R2, three_relations(chance, (6_000, 60_000, 4), 600))
    chain: list[Row] = [(number, number + 1) for number in range(200)]
    yield workload("insertions", "set", REACH, {"edge": chain + pairs(chance, 60, 200)})
    cut: dict[str, list[Row]] = {
        "needs": [(n, n - 1 if n % 100 else number(20_000)) for n in range(1, 20_000)] + pairs(chance, 2_000, 20_000),
        "there": [(n,) for n in range(1, 20_000)],
    }
    yield workload("deletions", "set", PRUNE, cut)
    tasks = {"before": [(n // 50 * 50 - chance.randrange(1, 51), n) for n in range(50, 6_000) for _ in range(3)]}
    begun: dict[str, list[Row]] = {"open": [(n,) for n in range(6_000)], "ready": [(n,) for n in range(50)]}
    yield workload("both", "set", TASKS, {**tasks, **begun})
    yield workload("small steps", "set", WALK, {"at": [(0,)], "next": [(n, n + 1) for n in range(400)]})
    star = {name: pairs(chance, 6_000, 1_000) for name in "abc"}
    yield workload("wide join", "set", STAR, {**star, "turn": [(0,)]})
    wishes = {"offer": pairs(chance, 20_000, 5_000), "wish": pairs(chance, 20_000, 5_000)}
    steps: dict[str, list[Row]] = {"at": [(0,)], "next": [(n, n + 1) for n in range(200)]}
    yield workload("waiting", "set", WAITING, {**wishes, **steps})


def three_relations(chance: random.Random, sizes: tuple[int, int, int], below: int) -> dict[str, list[Row]]:
    """Rows for A, B and C."""
    number = chance.randrange
    return {
        "A": [(number(below), "a", number(below)) for _ in range(sizes[0])],
        "B": [(number(below), number(below), "b") for _ in range(sizes[1])],
        "C": [("g", number(below), number(9)) for _ in range(sizes[2])],
    }


def pairs(chance: random.Random, count: int, below: int) -> list[Row]:
    return [(chance.randrange(below), chance.randrange(below)) for _ in range(count)]


def measure(one: Workload, retention: Retention) -> tuple[float, Result]:
    """CPU seconds, and what the run did."""
    backend = LocalBackend(one.checked.schemas)
    began = process_time()
    result = run_rules(one.checked, backend, one.tables, retention=retention)
    return process_time() - began, result


def main(arguments: Sequence[str] | None = None) -> int:
    """0; prints the table."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures networks.")
    parser.add_argument("--repeat", type=positive, default=5, help="runs of each; the median counts (default: 5)")
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    options = parser.parse_args(arguments)
    header = ["program", "cycles", *(f"{each.value} s" for each in COMPARED), "cosma / better", "overturned"]
    header += [f"{each.value} rows" for each in COMPARED[1:]]
    rows = []
    for one in workloads():
        if options.only not in one.name:
            continue
        for retention in COMPARED:
            measure(one, retention)
        runs = [[measure(one, retention) for retention in COMPARED] for _ in range(options.repeat)]
        seconds = {each: median(run[place][0] for run in runs) for place, each in enumerate(COMPARED)}
        results = [result for _, result in runs[-1]]
        better = min(seconds[Retention.RETE], seconds[Retention.TREAT])
        figures = [f"{seconds[each]:.3f}" for each in COMPARED] + [f"{seconds[Retention.COSMA] / better:.2f}"]
        kept = [f"{result.retained:,}" for result in results[1:]]
        rows.append([one.name, str(results[0].cycles), *figures, str(len(results[-1].switches)), *kept])
    print(markdown(header, rows))
    return 0
