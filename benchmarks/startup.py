"""How long a user waits for the first answer: the import, and a small program with and without compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.measurement import Clock

IMPORT = "import time; began = time.perf_counter(); import tidelog; print(time.perf_counter() - began)"

SMALL_PROGRAM = """
import tidelog
program = tidelog.parse('''
    .decl edge(a: number, b: number)
    .decl path(a: number, b: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
''')
with tidelog.open(program) as session:
    session.insert("edge", [(1, 2), (2, 3), (3, 4)])
    assert len(session["path"]) == 6
"""


@dataclass(frozen=True, slots=True)
class StartUp:
    """One thing that is waited for, the median of the seconds it took, and the most it may take."""

    name: str
    seconds: float
    goal: float | None


def measure_startup(repeat: int) -> Iterator[StartUp]:
    """The import alone, then whole processes that run a small program with an empty and with a filled kernel cache."""
    with tempfile.TemporaryDirectory(prefix="tidelog-start-") as scratch:
        caches = [Path(scratch) / str(turn) for turn in range(repeat)]
        imports = [float(run_python(IMPORT, cache)) for cache in caches]
        cold = [seconds_of(SMALL_PROGRAM, cache) for cache in caches]
        warm = [seconds_of(SMALL_PROGRAM, cache) for cache in caches]
    yield StartUp("`import tidelog`", median(imports), goal=0.3)
    yield StartUp("small program, whole process, cold kernel cache", median(cold), goal=2.0)
    yield StartUp("small program, whole process, warm kernel cache", median(warm), goal=None)


def seconds_of(text: str, cache: Path) -> float:
    clock = Clock()
    run_python(text, cache)
    return clock.lap()


def run_python(text: str, cache: Path) -> str:
    """What `text` prints in a new interpreter that keeps compiled kernels in `cache`."""
    environment = {**os.environ, "TIDELOG_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
