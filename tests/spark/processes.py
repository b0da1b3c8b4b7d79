"""Processes below this one, as Linux tells: takes a process id, returns those of its children."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")


def children_of(process: int) -> list[int]:
    """The processes that `process` started and that still run."""
    return [child for child, parent in parents().items() if parent == process]


def descendants_of(process: int) -> list[int]:
    """Children, their children and so on."""
    known, found, new = parents(), list[int](), [process]
    while new:
        new = [child for child, parent in known.items() if parent in new]
        found += new
    return found


def ancestors_of(process: int) -> list[int]:
    """The parent, its parent and so on."""
    known, found = parents(), list[int]()
    while process in known:
        process = known[process]
        found.append(process)
    return found


def parents() -> dict[int, int]:
    """The parent of each process that is not a zombie."""
    found = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it ended meanwhile
            continue
        if state != "Z":
            found[int(folder.name)] = int(parent)
    return found


def command_of(process: int) -> str:
    """The command line; empty where the process has ended."""
    try:
        return (PROC / str(process) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def is_java(process: int) -> bool:
    return "org.apache.spark" in command_of(process)


def wait_until_gone(processes: Iterable[int], seconds: float) -> None:
    """Waits for processes to end; AssertionError when they do not."""
    end = time.monotonic() + seconds
    left = list(processes)
    while left := [one for one in left if one in parents()]:
        assert time.monotonic() < end, f"still running: {[command_of(one)[:80] for one in left]}"
        time.sleep(0.1)
