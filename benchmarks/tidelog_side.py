"""Tidelog's side of a workload: loads the facts into a session and reads the size of each answer."""

from __future__ import annotations

from pathlib import Path

import tidelog
from benchmarks.measurement import Clock, Timed
from benchmarks.workloads import Workload


def run(workload: Workload, folder: Path, threads: int) -> Timed:
    """What loading the facts of `folder` and evaluating took, and the size of each answer."""
    program = tidelog.parse(workload.program.read_text(encoding="utf-8"))
    with tidelog.open(program, jobs=threads) as session:
        clock = Clock()
        for relation in workload.inputs:
            session.load(relation, folder / f"{relation}.facts")
        load_seconds = clock.lap()
        counts = {relation: len(session[relation]) for relation in workload.counts}
        return Timed(load_seconds, clock.lap(), counts)
