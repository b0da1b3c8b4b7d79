"""What one cycle of production rules did, and how a person reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.analysis.checked import ProductionRule, SimpleRule
from tidelog.backends.protocol import OwnRows
from tidelog.language.printer import print_literal, print_string
from tidelog.schema import Value


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that fired, and the instances it fired for, by alternative: rows of the variables that they bind."""

    rule: ProductionRule
    instances: tuple[OwnRows, ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """From now on a rule is tried otherwise than the analysis said, or it said after all: `retained` is kept for it.

    Seconds are those of a try as it was done before, and as it is now.
    """

    rule: ProductionRule
    retained: tuple[SimpleRule, ...]
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Firing:
    """One cycle: the rules that fired together (one, unless all fire in parallel), and what came and went by it.

    `switches` say what costs have overturned since the cycle before.
    """

    cycle: int
    fired: tuple[Fired, ...]
    came: Mapping[str, OwnRows]
    went: Mapping[str, OwnRows]
    switches: tuple[Switch, ...] = ()

    def __str__(self) -> str:
        return "\n".join(print_firing(self))


OnFiring: TypeAlias = Callable[[Firing], None]
"""Hears of each firing, after it is done."""


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
