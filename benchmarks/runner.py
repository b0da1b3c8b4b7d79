"""Runs workloads on Tidelog and its peers, each run in a process of its own, the systems taking turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.generators import prepare, prepare_sample
from benchmarks.measurement import Measurement
from benchmarks.workloads import Workload

ROOT = Path(__file__).parent.parent
TIDELOG = "tidelog"


@dataclass(frozen=True, slots=True)
class Settings:
    """What to measure with: the peers, the numbers of threads, how often, and for how long a run may go on."""

    peers: tuple[str, ...]
    jobs: tuple[int, ...]
    repeat: int
    data: Path
    timeout: float

    @property
    def systems(self) -> tuple[str, ...]:
        return (TIDELOG, *self.peers)


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that ended without a measurement, and why, in a word or two and in full."""

    short: str
    reason: str


Outcome = Measurement | Failure


@dataclass(frozen=True, slots=True)
class Result:
    """All runs of one workload with one number of threads.

    `first` is the run of Tidelog before those that count: it finds kernels not compiled yet.
    """

    workload: Workload
    threads: int
    first: Outcome
    runs: Mapping[str, tuple[Outcome, ...]]

    def summary(self, system: str) -> Outcome | None:
        """The median of each figure of `system`, or its first failure; None for a system that was not asked."""
        runs = self.runs.get(system, ())
        failures = [run for run in runs if isinstance(run, Failure)]
        measured = [run for run in runs if isinstance(run, Measurement)]
        if failures or not measured:
            return failures[0] if failures else None
        return Measurement(
            ready_seconds=median(run.ready_seconds for run in measured),
            load_seconds=median(run.load_seconds for run in measured),
            evaluation_seconds=median(run.evaluation_seconds for run in measured),
            peak_bytes=int(median(run.peak_bytes for run in measured)),
            counts=measured[0].counts,
        )

    def complaints(self) -> Iterator[str]:
        """One sentence for each run that failed or gave another number of rows than is known to be right."""
        for system, runs in self.runs.items():
            for wrong in dict.fromkeys(what_is_wrong(self.workload, run) for run in runs):
                if wrong:
                    yield f"{self.workload.name}, {system}, threads {self.threads}: {wrong}"


def run_all(workloads: Iterable[Workload], settings: Settings) -> Iterator[Result]:
    """The results of each workload in turn, one for each number of threads."""
    with tempfile.TemporaryDirectory(prefix="tidelog-benchmarks-") as scratch:
        for workload in workloads:
            yield from run_workload(workload, settings, Path(scratch))


def run_workload(workload: Workload, settings: Settings, scratch: Path) -> Iterator[Result]:
    """One result for each number of threads. Kernels compiled on the way stay in `scratch` for later runs."""
    facts = prepare(workload.data_set, settings.data)
    sample = prepare_sample(workload.inputs, scratch / "samples" / workload.name)

    def run(system: str, threads: int) -> Outcome:
        arguments = (system, workload.name, str(threads), str(facts.resolve()), str(sample))
        return run_apart(arguments, cache=scratch / "kernels", timeout=settings.timeout)

    first = {threads: run(TIDELOG, threads) for threads in settings.jobs}
    runs: dict[tuple[int, str], list[Outcome]] = {
        (threads, system): [] for threads in settings.jobs for system in settings.systems
    }
    for turn in range(settings.repeat):
        for threads in settings.jobs:
            # Whoever went first goes last the next time, so that a busy spell of the machine hits both.
            for system in settings.systems[:: -1 if turn % 2 else 1]:
                outcomes = runs[threads, system]
                if not any(isinstance(outcome, Failure) for outcome in outcomes):
                    outcomes.append(run(system, threads))
                    report(workload, system, threads, outcomes[-1])
    for threads in settings.jobs:
        by_system = {system: tuple(runs[threads, system]) for system in settings.systems}
        yield Result(workload, threads, first[threads], by_system)


def run_apart(arguments: tuple[str, ...], cache: Path, timeout: float) -> Outcome:
    """What `benchmarks.measure` says in a new process, so that its peak memory is that of this run alone."""
    said = run_file("benchmarks.measure", arguments, cache, timeout)
    return said if isinstance(said, Failure) else Measurement(**json.loads(said))


def run_file(name: str, arguments: tuple[str, ...], cache: Path, timeout: float) -> str | Failure:
    """What a file of this package prints in a new process that keeps compiled kernels in `cache`."""
    command = [sys.executable, "-m", name, *arguments]
    environment = {**os.environ, "TIDELOG_CACHE_DIR": str(cache)}
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Failure(f"over {timeout:g}", f"took over {timeout:g} s and was stopped")
    if finished.returncode:
        said = finished.stderr.strip() or "no message"
        return Failure("failed", f"failed with exit code {finished.returncode}: {said.splitlines()[-1]}")
    return finished.stdout


def what_is_wrong(workload: Workload, outcome: Outcome) -> str:
    """What is wrong with `outcome`; nothing when all its counts are right."""
    match outcome:
        case Failure(reason=reason):
            return reason
        case Measurement(counts=counts) if counts != workload.counts:
            return f"WRONG ANSWER: {dict(counts)} rows, not {dict(workload.counts)}"
        case _:
            return ""


def report(workload: Workload, system: str, threads: int, outcome: Outcome) -> None:
    """Says on stderr what came of one run."""
    match outcome:
        case Failure(reason=reason):
            said = reason
        case Measurement():
            said = f"load {outcome.load_seconds:.3f} s, evaluation {outcome.evaluation_seconds:.3f} s"
    print(f"{workload.name}  {system}  threads {threads}  {said}", file=sys.stderr)
