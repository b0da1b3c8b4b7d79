"""Paths over arcs, RG1 to RG5: Figures 18 and 19 of the paper.

The rule is recursive, so the watch leaves it to `maintain`, whose closure module finds strongly connected components
and closes what they form, as the paper does. Beside it stands semi-naive evaluation with B+ trees: in plain Python
(`semi_naive_python`), as all structures are that the yield index is compared with, and compiled, as our side is
(`semi_naive`). Which of them the goal means is open: each has its verdict.

The paper states "the entire processing time" of data sets "in which all tuples are already stored in the relations"
(6.2) and does not say whether building its index is part of it. So both are printed: from giving the arcs to having
the paths, and from the moment when the arcs are stored, on both sides alike.
"""

from __future__ import annotations

from time import process_time

import pyarrow as pa

from benchmarks.generators import Rows
from benchmarks.semi_naive import SemiNaive, at_once, by_the_book
from benchmarks.semi_naive_python import in_plain_python
from benchmarks.table import markdown
from benchmarks.yield_workloads import ARCS, RG, arcs
from tidelog.kernels.jit import use_compiled
from tidelog.session import open_session

READING = (
    "`yield ms` is the whole of a session, from giving the arcs (interning values, dropping doubles) to counting the "
    "paths; `… arcs stored` is the later part alone, deriving and counting, and each is compared with the same part of "
    "semi-naive evaluation."
)
GOAL = 4_000
REPEATS = 15
HEADINGS = (
    *("", "arcs", "paths", "yield ms", "… arcs stored"),
    *("semi-naive in plain Python ms", f"times (Fig. 19, goal ≥ {GOAL:,})", "… arcs stored"),
    *("compiled, by the book ms", "times", "… arcs stored", "compiled, at once ms", "times"),
    *("yield entries (18)", "semi-naive by the book", "… at once"),
)


def recursion() -> tuple[str, list[str]]:
    """The table, in seconds of the processor, and what must not be."""
    use_compiled()
    for compile_it in (by_the_book, at_once):
        compile_it(arcs(1))
    rows, complaints = [], []
    for name, number in ARCS.items():
        given = arcs(number)
        ours, paths = best_of_ours(given)
        book, once, plain = by_the_book(given), at_once(given), in_plain_python(given)
        rows.append(cells(name, number, ours, book, once, plain))
        complaints += [
            f"{name}: semi-naive evaluation finds {found.paths:,} paths, not {paths:,}"
            for found in (book, once, plain)
            if found.paths != paths
        ]
    return f"{READING}\n\n{markdown(HEADINGS, rows)}", complaints


def best_of_ours(given: Rows) -> tuple[tuple[float, float], int]:
    """The seconds of a session to take the arcs, and then to derive and count the paths; and how many these are."""
    change = pa.table({"x": given[:, 0], "y": given[:, 1]})
    paths = 0
    runs = []
    for _ in range(REPEATS):
        with open_session(RG) as session:
            start = process_time()
            session.insert("arc", change)
            stored = process_time()
            paths = len(session["path"])
            runs.append((stored - start, process_time() - stored))
    return min(runs, key=sum), paths


def cells(
    name: str, number: int, ours: tuple[float, float], book: SemiNaive, once: SemiNaive, plain: SemiNaive
) -> list[str]:
    storing, finding = ours
    seconds = storing + finding
    # Both columns of an arc are entered into data indexes; components and their closure follow each arc once.
    entries = 4 * number
    return [
        *(name, f"{number:,}", f"{once.paths:,}", f"{seconds * 1e3:.2f}", f"{finding * 1e3:.2f}"),
        *(f"{plain.seconds * 1e3:,.0f}", judged(plain.seconds / seconds), judged(plain.finding / finding)),
        *(f"{book.seconds * 1e3:,.0f}", judged(book.seconds / seconds), judged(book.finding / finding)),
        *(f"{once.seconds * 1e3:,.0f}", judged(once.seconds / seconds)),
        *(f"{entries:,}", f"{book.entries:,}", f"{once.entries:,}"),
    ]


def judged(value: float) -> str:
    return f"{value:,.0f} {'ok' if value >= GOAL else 'MISSED'}"
