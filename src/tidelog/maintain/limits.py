"""Whether a run has reached one of its limits, and the error that says what to do about it."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidelog.errors import LimitError
from tidelog.maintain.protocol import Limits
from tidelog.plan.nodes import RulePlan, StratumPlan

RESIDENT_PAGES = Path("/proc/self/statm")
RULES_NAMED = 5

BETWEEN_LOOKS = 0.05
"""Seconds between two looks at memory: a look costs more than a small round."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run has used up by the end of a round."""

    rounds: int
    rows: int
    seconds: float
    memory: int


def check_limits(usage: Usage, limits: Limits, stratum: StratumPlan, active: Sequence[tuple[RulePlan, int]]) -> None:
    """Raises LimitError when `usage` has reached a limit; `active` has the rules that still derive rows, and how many.

    It is called only while new rows come: what has ended cannot reach a limit.
    """
    reached = next(limits_reached(usage, limits), None)
    if reached is None:
        return
    name, message = reached
    lines = [f"{message}, in the stratum of {', '.join(stratum.relations)}"]
    producing = sorted(active, key=lambda item: -item[1])
    if producing:
        lines.append("  rules that still derive rows:")
        lines += [
            f"    {rule.span.file}:{rule.span.line}: {' '.join(rule.text.split())}  ({rows:,} in the last round)"
            for rule, rows in producing[:RULES_NAMED]
        ]
    lines.append(f"  hint: raise it with --limit-{name} or limits=Limits({name}=…), or bound what the rules derive")
    raise LimitError("\n".join(lines))


def limits_reached(usage: Usage, limits: Limits) -> Iterator[tuple[str, str]]:
    """The name of each limit that was reached, with a sentence about it."""
    if usage.rounds >= limits.rounds:
        yield "rounds", f"the limit of {limits.rounds:,} rounds was reached while new rows kept coming"
    if usage.rows >= limits.rows:
        yield "rows", f"the limit of {limits.rows:,} rows was reached with {usage.rows:,} rows derived"
    if usage.seconds >= limits.seconds:
        yield "seconds", f"the limit of {limits.seconds:,g} seconds was reached after {usage.seconds:,.1f} seconds"
    if usage.memory >= limits.memory:
        yield (
            "memory",
            f"the limit of {readable(limits.memory)} of memory was reached: {readable(usage.memory)} in use",
        )


def readable(size: int) -> str:
    """A number of bytes in the largest unit that leaves something before the point."""
    for unit, exponent in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 2**exponent:
            return f"{size / 2**exponent:.2f} {unit}"
    return f"{size} bytes"


def memory_in_use() -> int:
    """Bytes of memory that this process holds now; where the system does not say, the most it ever held."""
    try:
        with RESIDENT_PAGES.open("rb", buffering=0) as pages:
            return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class LooksAtMemory:
    """Looks at memory now and then, whichever run asks: it is that of the process."""

    def __init__(self) -> None:
        self._seen = 0
        self._next_look = 0.0

    def memory(self, now: float) -> int:
        """As `memory_in_use`, now or a moment ago."""
        if now >= self._next_look:
            self._seen = memory_in_use()
            self._next_look = now + BETWEEN_LOOKS
        return self._seen


looks = LooksAtMemory()
