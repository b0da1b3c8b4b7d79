"""`python -m benchmarks fresh-memory`: touches the memory that is free, so that later figures do not wait for it.

A virtual machine gets its memory from the host page by page, when a page is first touched since the machine started.
That took 3 ms a megabyte where it was measured, and 0.07 ms from then on, whichever process touches the page, until
the host takes it back. So "from nothing", which fills new memory, took up to five times as long on a machine that had
done little before, and ratios to it were smaller.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from time import perf_counter

import numpy as np
import numpy.typing as npt

from benchmarks.table import markdown

NAME = "fresh-memory"
BLOCK = 64 << 20
PAGE = 4096


def main(arguments: Sequence[str] | None = None) -> int:
    """0, always."""
    options = read_options(arguments)
    size = int(options.gigabytes * 1e9) if options.gigabytes else available() * 9 // 10
    first, again = touch(size), touch(size)
    print(markdown(("GB", "first ms / MB", "again ms / MB"), [[f"{size / 1e9:.1f}", f"{first:.4f}", f"{again:.4f}"]]))
    return 0


def touch(size: int) -> float:
    """Touches each page of so many bytes, which are free again after that; milliseconds for a megabyte."""
    started = perf_counter()
    blocks = [touched(min(BLOCK, size - start)) for start in range(0, size, BLOCK)]
    seconds = perf_counter() - started
    return seconds * 1e3 / (sum(map(len, blocks)) / 1e6)


def touched(size: int) -> npt.NDArray[np.uint8]:
    block = np.empty(size, np.uint8)
    block[::PAGE] = 1
    return block


def available() -> int:
    """Bytes that are free; what the system keeps for files stays out of it."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {NAME}", description="Touches the memory that is free."
    )
    parser.add_argument("--gigabytes", type=float, help="how much (default: nine tenths of what is free)")
    return parser.parse_args(arguments)
