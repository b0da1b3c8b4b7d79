"""Paths over arcs, RG1 to RG5: Figures 18 and 19 of the paper.

The rule is recursive, so the watch leaves it to `maintain`, whose closure module finds strongly connected components
and closes what they form, as the paper does. Beside it stands semi-naive evaluation with B+ trees, the same function
twice: compiled, as our side is, and as plain Python, as the other structures of these tables are. The plain one is
stopped after some seconds and its time stated in proportion to the paths that it had taken up by then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
import pyarrow as pa

from benchmarks.generators import Rows
from benchmarks.table import markdown
from benchmarks.yield_workloads import ARCS, RG, VERTICES, arcs
from tidelog.activation.table_room import empty_tables, with_room_for_nodes
from tidelog.kernels.jit import kernel, use_compiled
from tidelog.kernels.watch_finder import NONE
from tidelog.kernels.watch_order import FAN, KEYS, add_to_order, find_place, make_order, next_place
from tidelog.kernels.watch_totals import ENTRIES_READ
from tidelog.session import open_session

GOAL = 4_000
REPEATS = 7
STEP = 2_000
"""Paths that semi-naive evaluation takes up before it looks at the clock."""

ARC_ORDER, PATH_ORDER = 0, 1


@dataclass(frozen=True, slots=True)
class SemiNaive:
    """What semi-naive evaluation had when it was done or its time was over."""

    seconds: float
    taken_up: int
    paths: int
    entries: int


def recursion(limit: float) -> tuple[str, list[str]]:
    """The table, and what must not be. Plain semi-naive evaluation is stopped after `limit` seconds."""
    use_compiled()
    semi_naive(arcs(1), float("inf"))  # compiles
    rows, complaints = [], []
    for name, number in ARCS.items():
        given = arcs(number)
        seconds, paths = ours(given)
        compiled = semi_naive(given, float("inf"))
        rows.append(cells(name, number, seconds, compiled, in_plain_python(name, limit)))
        if compiled.paths != paths:
            complaints.append(f"{name}: semi-naive evaluation finds {compiled.paths:,} paths, not {paths:,}")
    header = (
        *("", "arcs", "paths", "yield ms", "semi-naive compiled ms", f"times (Fig. 19, goal ≥ {GOAL:,})"),
        *("in Python s", "of which measured", "times (19)", "yield entries (18)", "semi-naive entries (18)"),
    )
    return markdown(header, rows), complaints


def ours(given: Rows) -> tuple[float, int]:
    """The seconds until a session that is given the arcs has derived and counted the paths, and how many they are."""
    change = pa.table({"x": given[:, 0], "y": given[:, 1]})
    seconds, paths = float("inf"), 0
    for _ in range(REPEATS):
        with open_session(RG) as session:
            start = perf_counter()
            session.insert("arc", change)
            paths = len(session["path"])
            seconds = min(seconds, perf_counter() - start)
    return seconds, paths


def semi_naive(given: Rows, limit: float) -> SemiNaive:
    """Semi-naive evaluation: each path is taken up once, and joined with the arcs that lead to it."""
    start = perf_counter()
    tables = with_room_for_nodes(empty_tables(1), VERTICES * VERTICES // FAN)
    trees, totals = tables.trees, tables.totals
    roots = np.array([[make_order(trees, totals), make_order(trees, totals)]], np.int64)
    paths = np.empty((VERTICES * VERTICES, 2), np.int64)
    found = 0
    for x, y in given.tolist():
        add_to_order(trees, totals, roots, 0, ARC_ORDER, y * VERTICES + x, x)
        if add_to_order(trees, totals, roots, 0, PATH_ORDER, x * VERTICES + y, y):
            paths[found] = x, y
            found += 1
    taken_up = 0
    while taken_up < found and perf_counter() - start < limit:
        last = min(taken_up + STEP, found)
        found = int(take_up(trees, totals, roots, paths, taken_up, last, found))
        taken_up = last
    return SemiNaive(perf_counter() - start, taken_up, found, int(totals[ENTRIES_READ]))


@kernel
def take_up(trees, totals, roots, paths, first, last, found):
    """Joins the paths from `first` up to `last` with the arcs that lead to them; how many paths there are then."""
    for at in range(first, last):
        middle, end = paths[at, 0], paths[at, 1]
        place, _, read = find_place(trees, roots[0, ARC_ORDER], middle * VERTICES)
        totals[ENTRIES_READ] += read
        while place != NONE and trees[place // FAN, KEYS + place % FAN] < (middle + 1) * VERTICES:
            totals[ENTRIES_READ] += 1
            start = trees[place // FAN, KEYS + place % FAN] - middle * VERTICES
            key = start * VERTICES + end
            if add_to_order(trees, totals, roots, np.int64(0), np.int64(PATH_ORDER), key, end):
                paths[found, 0] = start
                paths[found, 1] = end
                found += 1
            place = next_place(trees, place)
    return found


def in_plain_python(name: str, limit: float) -> SemiNaive:
    """The same in a process of its own that compiles nothing."""
    command = [sys.executable, "-m", "benchmarks.yield_recursion", name, str(limit)]
    done = subprocess.run(
        command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True, stdout=subprocess.PIPE, text=True
    )
    return SemiNaive(**json.loads(done.stdout))


def cells(name: str, number: int, seconds: float, compiled: SemiNaive, plain: SemiNaive) -> list[str]:
    measured = plain.taken_up / compiled.paths
    plain_seconds = plain.seconds / measured  # a path costs about the same early and late
    # Both columns of an arc are entered into data indexes; components and their closure follow each arc once.
    entries = 4 * number
    return [
        *(name, f"{number:,}", f"{compiled.paths:,}", f"{seconds * 1e3:.2f}", f"{compiled.seconds * 1e3:,.0f}"),
        *(times(compiled.seconds / seconds), f"{plain_seconds:,.0f}", f"{measured:.0%}"),
        *(times(plain_seconds / seconds), f"{entries:,}", f"{compiled.entries:,}"),
    ]


def times(value: float) -> str:
    return f"{value:,.0f} {'ok' if value >= GOAL else 'MISSED'}"


if __name__ == "__main__":
    print(json.dumps(asdict(semi_naive(arcs(ARCS[sys.argv[1]]), float(sys.argv[2])))))
