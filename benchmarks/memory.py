"""How much memory this process holds, and the most it held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def resident() -> int:
    """Bytes this process holds in memory now; its peak where the system does not say."""
    return _status("VmRSS") if STATUS.exists() else peak()


def peak() -> int:
    """The most bytes this process held since it began or since `forget_peak`.

    Linux counts what a parent held before `exec` into `ru_maxrss`, so it is read only where nothing better is there.
    """
    if STATUS.exists():
        return _status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak() -> None:
    """Lets `peak` count from now on, where the system can do that."""
    try:
        CLEAR.write_text("5", encoding="ascii")
    except OSError:
        return


def _status(field: str) -> int:
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"{STATUS} has no {field}")
