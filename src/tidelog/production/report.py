"""The errors of production rules that do not come to an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.analysis.checked import ProductionRule
from tidelog.errors import LimitError, OscillationError
from tidelog.maintain.limits import memory_in_use, readable
from tidelog.maintain.protocol import Limits
from tidelog.production.firing import Firing, changes

SHOWN = 8
"""Firings, and facts of each, that an error shows."""


@dataclass(frozen=True, slots=True)
class CycleUsage:
    """What a run has used up by the end of a cycle."""

    cycles: int
    rows: int
    seconds: float


def check_cycles(usage: CycleUsage, limits: Limits, fired: Sequence[ProductionRule]) -> None:
    """Raises LimitError when `usage` has reached a limit; `fired` are the rules of the last cycle."""
    if usage.cycles >= limits.rounds:
        reached = "rounds", f"the limit of {limits.rounds:,} cycles was reached, and rules are still firable"
    elif usage.rows >= limits.rows:
        reached = "rows", f"the limit of {limits.rows:,} rows was reached: so many were inserted"
    elif usage.seconds >= limits.seconds:
        reached = "seconds", f"the limit of {limits.seconds:,g} seconds was reached after {usage.cycles:,} cycles"
    elif usage.cycles % 64 == 0 and memory_in_use() >= limits.memory:
        reached = "memory", f"the limit of {readable(limits.memory)} of memory was reached"
    else:
        return
    name, message = reached
    lines = [message, "  fired last:", *(f"    {place(rule)}" for rule in fired[:SHOWN])]
    lines.append(f"  hint: raise it with --limit-{name} or limits=Limits({name}=…), or let the rules come to an end")
    raise LimitError("\n".join(lines))


def oscillation(cycle: int, turn: Sequence[Firing]) -> OscillationError:
    """The error for rules that after `cycle` were in an earlier state, and come back to it by the firings of `turn`."""
    times = "cycle" if len(turn) == 1 else f"{len(turn)} cycles"
    lines = [f"the production rules go round: after cycle {cycle} the facts are what they were {times} before"]
    for firing in turn[:SHOWN]:
        lines += [f"    {place(fired.rule)}" for fired in firing.fired]
        facts = [f"      {fact}" for fact in changes(firing)]
        lines += facts[:SHOWN]
        if len(facts) > SHOWN:
            lines.append(f"      … and {len(facts) - SHOWN} more")
    if len(turn) > SHOWN:
        lines.append(f"    … and {len(turn) - SHOWN} more cycles")
    lines.append("  hint: let one of these rules ask for something that its firing ends, or remove one of them")
    return OscillationError("\n".join(lines))


def place(rule: ProductionRule) -> str:
    """A rule by its place and text."""
    return f"{rule.span.file}:{rule.span.line}: {' '.join(rule.text.split())}"
