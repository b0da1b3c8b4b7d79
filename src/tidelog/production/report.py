"""Firings as a person reads them, and the errors of runs that do not end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.protocol import OwnRows
from tidelog.errors import LimitError, OscillationError
from tidelog.language.printer import print_literal, print_string
from tidelog.maintain.limits import memory_in_use, readable
from tidelog.maintain.protocol import Limits
from tidelog.production.semantics import Firing, Switch
from tidelog.schema import Value

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


def print_firing(firing: Firing) -> Iterator[str]:
    """The lines that tell of a firing: rules, the instances they fired for, what went and what came.

    Before it, what the costs of the tries that led to it have overturned about what is retained.
    """
    yield from map(print_switch, firing.switches)
    for fired in firing.fired:
        rows = [row for table in fired.instances for row in bindings(table)]
        yield f"cycle {firing.cycle}: {fired.rule.name} ({fired.rule.span.file}:{fired.rule.span.line})"
        yield from (f"  for {row}" for row in rows if row)
    yield from (f"  {fact}" for fact in changes(firing))


def print_switch(switch: Switch) -> str:
    """The line that tells that a rule is tried otherwise from now on."""
    joins = " and of ".join(", ".join(map(print_literal, each.body)) for each in switch.retained)
    how = f"retains the join of {joins}" if joins else "retains no join"
    costs = f"{switch.after * 1000:.2f} ms a try instead of {switch.before * 1000:.2f} ms"
    return f"from now on {switch.rule.name} {how}: {costs}"


def bindings(table: OwnRows) -> Iterator[str]:
    """Each instance as `x = 3, y = 2`."""
    for row in _rows(table):
        yield ", ".join(f"{name} = {_shown(value)}" for name, value in zip(table.column_names, row, strict=True))


def changes(firing: Firing) -> Iterator[str]:
    """What a firing changed: `-closed(3)`, `+open(3)`."""
    for sign, tables in (("-", firing.went), ("+", firing.came)):
        yield from (sign + fact for fact in facts(tables))


def facts(tables: Mapping[str, OwnRows]) -> Iterator[str]:
    for relation, table in tables.items():
        yield from (f"{relation}({', '.join(map(_shown, row))})" for row in _rows(table))


def _rows(table: OwnRows) -> list[tuple[Value, ...]]:
    """The rows of an Arrow table, in order."""
    if not table.num_columns:
        return [()] * table.num_rows
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _shown(value: Value) -> str:
    return print_string(value) if isinstance(value, str) else repr(value)
