"""`python -m benchmarks push-pipeline`: the memory of ten rules without recursion over many rows, stored or pushed.

Each rule reads the relation of the one before. As batches every relation between is stored; by generated code none is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.table import markdown

NAME = "push-pipeline"
RULES = 10
VALUES = 1000
KEYS = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed or the answers differ."""
    options = read_options(arguments)
    with tempfile.TemporaryDirectory(prefix="tidelog-pipeline-") as scratch:
        folder = Path(scratch)
        write_facts(folder, options.rows)
        (folder / "pipeline.dl").write_text(program(), encoding="utf-8")
        answers, lines = set(), []
        for tier in ("vectorised", "push") * 2:  # the first two runs compile what they need
            seconds, megabytes = run(folder, tier)
            answers.add((folder / "out.csv").read_bytes())
            lines.append((tier, f"{seconds:.1f}", f"{megabytes:.0f}"))
    print(f"{RULES} rules over {options.rows:,} rows, whole runs of `tidelog run`\n")
    print(markdown(("tier", "seconds", "peak MB"), lines[2:]))
    if len(answers) > 1:
        print("*** the answers differ", file=sys.stderr)
    return 0 if len(answers) == 1 else 1


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures memory.")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the first relation")
    return parser.parse_args(arguments)


def write_facts(folder: Path, rows: int) -> None:
    """Pairs of a key and a value, the values that are good, and the keys that are bad."""
    numbers = np.arange(rows)
    pairs = {"x": pa.array(numbers % KEYS), "y": pa.array(numbers // KEYS % VALUES)}
    pq.write_table(pa.table(pairs), folder / "first.parquet")
    pq.write_table(pa.table({"y": pa.array(np.arange(VALUES))}), folder / "good.parquet")
    pq.write_table(pa.table({"x": pa.array(np.arange(3, KEYS, 1000))}), folder / "bad.parquet")


def program() -> str:
    """Nine relations between the input and the output: joined, filtered and turned in turn."""
    kinds = ("{0}(x, y) :- {1}(x, y), good(y).", "{0}(x, y) :- {1}(x, y), !bad(x).", "{0}(x, y) :- {1}(x, y), x != y.")
    names = ["first", *(f"step{number}" for number in range(1, RULES)), "out"]
    declarations = [f".decl {name}(x: number, y: number)" for name in names]
    declarations += [".decl good(y: number)", ".decl bad(x: number)"]
    inputs = [f'.input {name}(filename="{name}.parquet")' for name in ("first", "good", "bad")]
    steps = [kinds[number % 3].format(head, body) for number, (body, head) in enumerate(pairwise(names[:-1]))]
    last = f"out(x, y) :- {names[-2]}(x, y), x < 3."
    return "\n".join([*declarations, *inputs, ".output out", *steps, last, ""])


def run(folder: Path, tier: str) -> tuple[float, float]:
    """The seconds and the peak memory, in MB, of one run."""
    command = [sys.executable, "-m", "tidelog", "run", "pipeline.dl", "--tier", tier]
    environment = {**os.environ, "TIDELOG_CACHE_DIR": str(folder / "kernels")}
    started = perf_counter()
    with subprocess.Popen(command, cwd=folder, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{tier}: ended with {process.returncode}")
    return perf_counter() - started, usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
