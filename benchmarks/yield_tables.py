"""`python -m benchmarks yield`: what the yield index touches beside other structures, how large it is and how fast."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import perf_counter

from benchmarks.names import one_of
from benchmarks.yield_arrivals import arrivals, read
from benchmarks.yield_counts import MAKERS, OURS, Counts, count, judge, savings, shares, table
from benchmarks.yield_recursion import recursion
from benchmarks.yield_speed import throughput
from benchmarks.yield_workloads import SIZES, WORKLOADS, YieldWorkload

__all__ = ["NAME", "arrivals", "main", "read"]

NAME = "yield"
SPEED, RECURSION = "speed", "RG"
PARTS = (*WORKLOADS, RECURSION, SPEED)
STARTED = perf_counter()


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when structures disagree, or one with an index for each join touches less than the yield index."""
    options = read_options(arguments)
    complaints: list[str] = []
    for name in options.names or PARTS:
        if name in WORKLOADS:
            workload = WORKLOADS[name]
            for size in options.sizes:
                counts = count_all(workload, SIZES[size])
                show(f"{name}, {SIZES[size]:,} tuples in each relation, {counts[OURS].matches:,} matches")
                show(table(counts))
                show(savings(counts))
                complaints += judge(f"{name}_{size}", counts)
            tell(f"{name}, other shares")
            show(shares(workload, SIZES[options.sizes[0]]))
        elif name == RECURSION:
            tell(name)
            found, wrong = recursion()
            show(found)
            complaints += wrong
        else:
            tell(name)
            show(throughput())
    tell("done")
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def count_all(workload: YieldWorkload, size: int) -> dict[str, Counts]:
    """What each structure touches on a workload."""
    counts = {}
    for made, make in MAKERS.items():
        tell(f"{workload.name}, {size:,} tuples, {made}")
        counts[made] = count(make, workload, size)
    return counts


def tell(begins: str) -> None:
    """Says on the error stream what begins, and how many seconds after the start of the program."""
    print(f"{perf_counter() - STARTED:6.0f} s  {begins}", file=sys.stderr, flush=True)


def show(part: str) -> None:
    print(f"{part}\n", flush=True)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures the yield index.")
    parser.add_argument("names", nargs="*", type=one_of(PARTS), metavar="name", help=", ".join(PARTS))
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES), help="s: 50,000, l: 100,000")
    return parser.parse_args(arguments)
