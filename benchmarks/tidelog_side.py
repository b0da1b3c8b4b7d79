"""Tidelog's side of a workload: loads the facts into a session and reads the size of each answer."""

from __future__ import annotations

from pathlib import Path

import tidelog
from benchmarks.measurement import Clock, Timed
from benchmarks.workloads import Workload
from tidelog.kernels.jit import use_compiled


def run(workload: Workload, folder: Path, threads: int) -> Timed:
    """What loading the facts of `folder` and evaluating took, and the size of each answer.

    Kernels run compiled from the start: else a process would load Numba in the middle of the first large load, and
    that is part of getting ready. Closures are computed by their rules, as DuckDB computes them; what the modules for
    them gain stands in the table of updates.
    """
    use_compiled()
    program = tidelog.parse(workload.program.read_text(encoding="utf-8"))
    with tidelog.open(program, jobs=threads, maintenance=tidelog.Maintenance(modules=False)) as session:
        clock = Clock()
        for relation in workload.inputs:
            session.load(relation, folder / f"{relation}.facts")
        load_seconds = clock.lap()
        counts = {relation: len(session[relation]) for relation in workload.counts}
        return Timed(load_seconds, clock.lap(), counts)
