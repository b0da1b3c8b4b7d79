"""`python -m benchmarks production`: what each way to retain joins costs production rules.

Eight programs: r1 and r2 of the COSMA paper in sets and by instances, insertions only, deletions only, a deep run of
small steps, and a wide join of which one part changes. CPU seconds, the least of three runs, and rows retained at the
end.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import process_time

import pyarrow as pa

from benchmarks.table import markdown
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.checking import check_program
from tidelog.connectors.frames import to_table
from tidelog.language.parser import parse
from tidelog.plan.nodes import Version
from tidelog.plan.retention.network import Retention, with_retained_joins
from tidelog.production import run_rules
from tidelog.schema import Row

NAME = "production"
COMPARED = (Retention.RETE, Retention.TREAT, Retention.COSMA)

ABC = """
.decl A(x: number, s: symbol, z: number)
.decl B(x: number, y: number, s: symbol)
.decl C(s: symbol, y: number, w: number)
"""
R1 = ABC + '+C("g", x, w), -C("g", y, z) :- A(x, "a", z), B(x, y, "b"), C("g", y, w), x > y.\n'
R2 = ABC + '-B(y, z, "b") :- A(x, "a", z), B(x, y, "b"), C("g", y, w).\n'
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
    yield workload("r1, sets", "set", R1, three_relations(chance, 40_000, 40_000))
    yield workload("r1, instances", "instance", R1, three_relations(chance, 300, 300))
    yield workload("r2, sets", "set", R2, three_relations(chance, 3_000, 400))
    yield workload("r2, instances", "instance", R2, three_relations(chance, 60, 40))
    chain = [(number, number + 1) for number in range(200)]
    yield workload("insertions", "set", REACH, {"edge": chain + pairs(chance, 60, 200)})
    cut = {"needs": [(number + 1, number) for number in range(1, 300)], "there": [(n,) for n in range(2, 301)]}
    yield workload("deletions", "set", PRUNE, cut)
    yield workload("small steps", "set", WALK, {"at": [(0,)], "next": [(n, n + 1) for n in range(400)]})
    star = {name: pairs(chance, 6_000, 1_000) for name in "abc"}
    yield workload("wide join", "set", STAR, {**star, "turn": [(0,)]})


def three_relations(chance: random.Random, size: int, below: int) -> dict[str, list[Row]]:
    number = chance.randrange
    return {
        "A": [(number(below), "a", number(below)) for _ in range(size)],
        "B": [(number(below), number(below), "b") for _ in range(3 * size)],
        "C": [("g", number(below), number(9)) for _ in range(size // 4)],
    }


def pairs(chance: random.Random, count: int, below: int) -> list[Row]:
    return [(chance.randrange(below), chance.randrange(below)) for _ in range(count)]


def measure(one: Workload, retention: Retention) -> tuple[float, int, int]:
    """CPU seconds, cycles, and rows retained at the end."""
    names = with_retained_joins(one.checked, retention).schemas.keys() - one.checked.schemas.keys()
    seconds: list[float] = []
    for _ in range(3):
        backend = LocalBackend(one.checked.schemas)
        began = process_time()
        result = run_rules(one.checked, backend, one.tables, retention=retention)
        seconds.append(process_time() - began)
    return min(seconds), result.cycles, sum(backend.statistics().rows(name, Version.FULL) for name in names)


def main(arguments: Sequence[str] | None = None) -> int:
    """0; prints the table."""
    argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures networks.").parse_args(arguments)
    header = ["program", "cycles", *(f"{each.value} s" for each in COMPARED), "cosma / better"]
    header += [f"{each.value} rows" for each in COMPARED]
    rows = []
    for one in workloads():
        found = [measure(one, retention) for retention in COMPARED]
        better = min(found[0][0], found[1][0])
        figures = [f"{seconds:.3f}" for seconds, _, _ in found] + [f"{found[2][0] / better:.2f}"]
        rows.append([one.name, str(found[2][1]), *figures, *(f"{kept:,}" for _, _, kept in found)])
    print(markdown(header, rows))
    return 0
