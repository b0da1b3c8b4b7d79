"""Tidelog's side of a problem: `python -m benchmarks.rivals.tidelog_side PROBLEM FACTS REPEAT` prints its outcome."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np

import tidelog
from benchmarks.rivals.outcome import Run, print_outcome
from benchmarks.rivals.problems import Facts, Row
from benchmarks.yield_arrivals import arrivals, read
from benchmarks.yield_workloads import UC
from tidelog.activation.watcher import Watcher
from tidelog.analysis.checked import CheckedProgram
from tidelog.checking import check_program
from tidelog.kernels import jit
from tidelog.production.at_once.compiling import compile_here

PROGRAMS = Path(__file__).parent.parent / "programs"
BATCH = 1_000


def manners(facts: Facts) -> Run:
    """Parties seated, all of them at the same time."""
    return ran(facts, "manners.dl", "row")


def waltz(facts: Facts) -> Run:
    """The labels that lines may have."""
    return ran(facts, "waltz.dl", "label")


def ran(facts: Facts, program: str, answer: str) -> Run:
    """The rows of `answer` after production rules have run.

    The rules are read once for all runs, as those of the others are before they are given facts.
    """
    db = tidelog.open(read_rules(program))
    clock = process_time()
    for relation, rows in facts.items():
        db.insert(relation, rows)
    loaded = process_time()
    db.run()
    assert len(db[answer])  # derives it
    done = process_time()
    return Run(loaded - clock, done - loaded, lambda: db[answer])


@cache
def read_rules(program: str) -> CheckedProgram:
    return check_program(tidelog.parse_file(PROGRAMS / program))


def watch_one_by_one(facts: Facts) -> Run:
    """Matches of UC, a call for each tuple."""
    watcher, seconds, found = watching(facts)
    arriving = [tuple(row) for row in facts["arriving"]]
    clock = process_time()
    for row in arriving:
        for match in watcher.insert("near", row):
            found.add(match.row)
    return Run(seconds, process_time() - clock, lambda: found)


def watch_in_batches(facts: Facts) -> Run:
    """Matches of UC, a call for each batch of tuples; matches stay arrays while the clock runs."""
    watcher, seconds, found = watching(facts)
    near, rows = watcher.index.relations["near"], np.array(facts["arriving"], np.int64)
    batches = [arrivals(near, rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)]
    clock = process_time()
    begun = [watcher.apply(batch) for batch in batches]
    seconds_of_batches = process_time() - clock
    found |= {match.row for matches in begun for match in watcher.read(matches)}
    return Run(seconds, seconds_of_batches, lambda: found)


def watching(facts: Facts) -> tuple[Watcher, float, set[Row]]:
    """A watcher of UC with every tuple but those that arrive, the seconds it took to give it these, and its matches."""
    watcher = Watcher()
    checked, rules = read(UC)
    for schema in checked.schemas.values():
        watcher.add_relation(schema)
    watcher.add_watch(rules, checked.schemas["result"].kinds)
    found: set[Row] = set()
    clock = process_time()
    for name in ("use", "request", "near"):
        given = arrivals(watcher.index.relations[name], np.array(facts[name], np.int64))
        found |= {match.row for match in watcher.read(watcher.apply(given))}
    return watcher, process_time() - clock, found


PROBLEMS: Mapping[str, Callable[[Facts], Run]] = {
    "manners": manners,
    "waltz": waltz,
    "watch-one-by-one": watch_one_by_one,
    "watch-in-batches": watch_in_batches,
}


if __name__ == "__main__":
    jit.use_compiled()
    compile_here()  # on disk already, but for the first time on a machine
    print_outcome(PROBLEMS, sys.argv[1:], unmeasured=1)  # loads compiled kernels
