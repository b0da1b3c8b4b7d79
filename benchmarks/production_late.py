"""`python -m benchmarks late-news`: late news for production rules beside running again.

Runs of 50 iterations; one random fact of the input is retracted late and inserted again. Median seconds of 100 such
revisions, beside the median of runs from the start in between, as `db.run()` makes them, and the least of two that keep
chains, in processor time.

Then what is kept of runs of 100 iterations: bytes of the arrays that have the facts at the end, the facts ever there,
and the chains. What a run without chains has no need of is the chains and the facts that are gone. It is set
beside the facts at the end, and the chains beside the facts that were ever there: a run that uses its facts up must at
least know which there were.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import process_time

from benchmarks.table import markdown
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.checking import check_program
from tidelog.connectors.frames import to_table
from tidelog.facts.change import Change
from tidelog.language.parser import parse
from tidelog.maintain.protocol import Limits
from tidelog.production import run_rules
from tidelog.production.late.incr_update import revise
from tidelog.production.late.late_run import LateRun
from tidelog.schema import Row

NAME = "late-news"

SPREAD = """
.production parallel
.decl meets(x: number, y: number)
.decl sick(x: number)
.decl well(x: number)
+sick(y), -well(y) :- sick(x), meets(x, y), well(y).
"""
REACH = """
.production parallel
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
+path(x, y) :- edge(x, y).
+path(x, z) :- path(x, y), edge(y, z).
"""
JOBS = """
.production parallel
.decl job(x: number, n: number)
.decl last(n: number)
.decl tick(n: number)
.decl done(x: number)
+tick(n + 1), -tick(n) :- tick(n), last(m), n < m.
+done(x), -job(x, n) :- job(x, n), tick(n).
"""


@dataclass(frozen=True)
class Case:
    """A program, facts for it, and the relation of which one fact comes late."""

    name: str
    text: str
    facts: dict[str, list[Row]]
    late: str

    @property
    def checked(self) -> CheckedProgram:
        return check_program(parse(self.text))


def main(arguments: Sequence[str] | None = None) -> int:
    """0; prints both tables."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures late news.")
    parser.add_argument("--size", type=int, default=5000, help="facts that an iteration has to do with")
    parser.add_argument("--news", type=int, default=100, help="revisions of which the median is taken")
    options = parser.parse_args(arguments)
    print(markdown(*times(cases(options.size, 50), options.news)))
    print(markdown(*memory(cases(options.size, 100))))
    return 0


def cases(size: int, iterations: int) -> list[Case]:
    """Runs of so many iterations."""
    choose = random.Random(7)
    layers = [range(layer * size, (layer + 1) * size) for layer in range(iterations + 1)]
    meets = [(x, choose.choice(after)) for at, after in pairwise(layers) for x in at for _ in "ab"]
    well = [(x,) for layer in layers[1:] for x in layer]
    roads = max(size * 6 // 50, 1)  # about as many paths at the end as the others have facts, after 50 iterations
    edges = [(road * 1000 + x, road * 1000 + x + 1) for road in range(roads) for x in range(iterations - 1)]
    jobs = [(x, n) for n, layer in enumerate(layers[:iterations]) for x in layer]
    return [
        Case("spread", SPREAD, {"meets": meets, "sick": [(x,) for x in layers[0]], "well": well}, "meets"),
        Case("reach", REACH, {"edge": edges, "path": []}, "edge"),
        Case("jobs", JOBS, {"job": jobs, "last": [(iterations - 1,)], "tick": [(0,)], "done": []}, "job"),
    ]


def times(some: Sequence[Case], news: int) -> tuple[list[str], list[list[str]]]:
    """Seconds of late news and of running again, by program."""
    rows = []
    for case in some:
        checked = case.checked
        _seconds_of_run(case, checked)  # loads compiled kernels
        with_chains, run = min((_timed_late_run(case, checked) for _ in range(2)), key=lambda timed: timed[0])
        cycles = run.cycles
        seconds, runs = _seconds_of_news(case, checked, run, news)
        again, middle = median(runs), median(seconds)
        figures = [f"{again:.3f}", f"{with_chains:.3f}", f"{middle:.4f}", f"{max(seconds):.4f}"]
        facts = sum(run.rows_before(cycles, name).shape[0] for name in run.relations)
        rows.append(
            [case.name, str(cycles), str(facts), *figures, f"1/{again / middle:.0f}", f"1/{with_chains / middle:.0f}"]
        )
    header = [
        "program",
        "iterations",
        "facts",
        "run again",
        "with chains",
        "late news",
        "slowest",
        "ratio",
        "to with chains",
    ]
    return header, rows


def memory(some: Sequence[Case]) -> tuple[list[str], list[list[str]]]:
    """Bytes of facts and of chains, by program."""
    rows = []
    for case in some:
        run = _late_run(case, case.checked)
        facts = sum(run.rows_before(run.cycles, name).nbytes for name in run.relations)
        ever = sum(run.ever_there.rows(name).nbytes for name in run.relations)
        chains = sum(run.chains(name).bytes_held for name in run.relations)
        records = sum(run.chains(name).record_count for name in run.relations)
        more = chains + ever - facts
        ratios = [f"{more / facts:.1f}", f"{chains / ever:.1f}"]
        rows.append([case.name, *map(str, (run.cycles, records, facts, ever, chains, more)), *ratios])
    sizes = ["facts at the end", "facts ever there", "chains", "kept besides"]
    return ["program", "iterations", "records", *sizes, "besides / facts", "chains / ever there"], rows


def _seconds_of_run(case: Case, checked: CheckedProgram) -> float:
    tables = {name: to_table(rows, checked.schemas[name]) for name, rows in case.facts.items()}
    started = process_time()
    run_rules(checked, LocalBackend(checked.schemas), tables)
    return process_time() - started


def _late_run(case: Case, checked: CheckedProgram) -> LateRun:
    return _timed_late_run(case, checked)[1]


def _timed_late_run(case: Case, checked: CheckedProgram) -> tuple[float, LateRun]:
    tables = {name: to_table(rows, checked.schemas[name]) for name, rows in case.facts.items()}
    started = process_time()
    run = LateRun(checked, LocalBackend(checked.schemas), tables, Limits())
    return process_time() - started, run


def _seconds_of_news(case: Case, checked: CheckedProgram, run: LateRun, news: int) -> tuple[list[float], list[float]]:
    """The time of each revision, by turns one that retracts a fact and one that inserts it again, and of runs that are
    done in between, so that both are measured while the machine does the same besides."""
    choose = random.Random(11)
    seconds, runs = [], []
    for turn in range(news // 2):
        if turn % 10 == 0:
            runs.append(_seconds_of_run(case, checked))
        rows = {case.late: to_table([choose.choice(case.facts[case.late])], run.schemas[case.late])}
        for change in (Change(retracted=rows), Change(inserted=rows)):
            started = process_time()
            revise(run, change, 0)
            seconds.append(process_time() - started)
    return seconds, runs
