"""Which derived relations are stored, and which are only pushed. Takes the rules of a program, returns reasons.

The gain of the Push method is that rows of intermediate relations are used at once and never kept. A row that goes
straight to its reader costs what deriving it costs; kept, it would be written to a set and read again. So a relation is
stored only for one of the reasons below, and every body has at most one literal that takes what is not stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.codegen.graph_nodes import GraphRule
from tidelog.codegen.graph_rules import GraphProgram
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.nodes import GroupJoin, Range, Scan
from tidelog.plan.spine import flatten
from tidelog.plan.walk import inputs_of, nodes_of, scans_of, terms_of, variables_of


@dataclass(frozen=True, slots=True)
class Storage:
    """The reasons for each stored relation, and the strata in which the rows of each pushed relation are needed."""

    stored: Mapping[str, tuple[str, ...]]
    phases: Mapping[str, frozenset[int]]

    def takes(self, rule: GraphRule) -> Scan | None:
        """The literal of a rule without recursion that takes facts as they are derived, if it has one."""
        return next((scan for scan in joined_scans(rule.plan.node) if scan.relation in self.phases), None)


def choose_storage(program: GraphProgram, wanted: frozenset[str]) -> Storage:
    """The storage of every derived relation; relations of the last strata are decided first, as they have no reader."""
    reasons = Reasons()
    look_at_outputs(program, wanted, reasons)
    look_at_reading(program, reasons)
    look_at_bodies(program, reasons)
    return Storage(*look_at_phases(program, reasons))


@dataclass(slots=True)
class Reasons:
    """What speaks for storing each relation."""

    found: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, relation: str, reason: str) -> None:
        self.found.setdefault(relation, {})[reason] = None


def look_at_outputs(program: GraphProgram, wanted: frozenset[str], reasons: Reasons) -> None:
    """What is asked for is kept, and what has a limit is counted."""
    for relation in sorted(program.derived & wanted):
        reasons.add(relation, "its rows are asked for")
    for relation in sorted(program.derived & program.plan.size_limits.keys()):
        reasons.add(relation, "a .limitsize counts its rows")


def look_at_reading(program: GraphProgram, reasons: Reasons) -> None:
    """What is negated or aggregated must be complete first, and so must recursion that a later stratum reads."""
    for rule in program.rules:
        name = f"rule {rule.label}"
        joined = Counter(scan.relation for scan in joined_scans(rule.plan.node))
        every = Counter(scan.relation for scan in scans_of(rule.plan.node))
        for relation in sorted((every - joined).keys() & program.derived):
            reasons.add(relation, f"{name} reads it under negation or in an aggregate")
        for relation in joined.keys() & program.derived:
            if is_recursive(relation, program) and relation not in program.recursive[rule.stratum]:
                reasons.add(relation, f"it is recursive, and {name} reads all of it")


def look_at_bodies(program: GraphProgram, reasons: Reasons) -> None:
    """Of the derived literals of a body one takes facts; the others are looked up (section 6.6)."""
    for rule in program.rules:
        derived = [scan.relation for scan in joined_scans(rule.plan.node) if scan.relation in program.derived]
        inner = [relation for relation in derived if relation in program.recursive[rule.stratum]]
        free = [relation for relation in derived if relation not in reasons.found and derived.count(relation) == 1]
        taken = (inner or free)[:1]
        for relation in derived:
            if derived.count(relation) > 1:
                reasons.add(relation, f"rule {rule.label} reads it more than once")
            elif relation not in taken or len(inner) > 1:
                others = dict.fromkeys(each for each in (inner or taken) if each != relation)
                if others:
                    reasons.add(relation, f"rule {rule.label} looks it up for each row of {' and '.join(others)}")


def look_at_phases(
    program: GraphProgram, reasons: Reasons
) -> tuple[dict[str, tuple[str, ...]], dict[str, frozenset[int]]]:
    """What is stored at last, and in which strata the rows of every other relation are needed.

    A relation that several strata need would be derived once for each. That is no more work than to keep its rows and
    read them again where each of its rules reads one relation; behind a join it is, and so it is where a rule drops a
    column and gives duplicates, so then the relation is stored.
    """
    phases: dict[str, frozenset[int]] = {}
    strata = {rule.plan.head: rule.stratum for rule in program.rules}
    readers: dict[str, list[GraphRule]] = {}
    rules: dict[str, list[GraphRule]] = {}
    for rule in program.rules:
        rules.setdefault(rule.plan.head, []).append(rule)
        for scan in joined_scans(rule.plan.node):
            readers.setdefault(scan.relation, []).append(rule)
    for relation in sorted(program.derived, key=lambda name: strata.get(name, 0), reverse=True):
        own = strata.get(relation, 0)
        if relation in reasons.found:
            continue
        if is_recursive(relation, program):
            phases[relation] = frozenset({own})
            continue
        needed = frozenset(
            stratum
            for rule in readers.get(relation, ())
            for stratum in phases.get(rule.plan.head, frozenset({rule.stratum}))
        )
        working = [rule.label for rule in rules.get(relation, ()) if does_work(rule)]
        dropping = [rule.label for rule in rules.get(relation, ()) if drops_column(rule)]
        if len(needed) > 1 and working:
            reasons.add(relation, f"{len(needed)} strata need it, and rule {working[0]} would join each time")
        elif len(needed) > 1 and dropping:
            reasons.add(relation, f"{len(needed)} strata need it, and rule {dropping[0]} gives duplicates each time")
        else:
            phases[relation] = needed or frozenset({own})
    return {relation: tuple(found) for relation, found in reasons.found.items()}, phases


def is_recursive(relation: str, program: GraphProgram) -> bool:
    return any(relation in relations for relations in program.recursive)


def does_work(rule: GraphRule) -> bool:
    """Whether `rule` does more than to read one relation or the text."""
    (body,) = inputs_of(rule.plan.node)
    costly = any(isinstance(node, GroupJoin | Range) for node in nodes_of(body))
    return costly or len(flatten(body).sources) > 1


def drops_column(rule: GraphRule) -> bool:
    """Whether `rule` leaves a column of what it reads out of its head, so that it gives rows more than once."""
    shown = {name for term in terms_of(rule.plan.node) for name in variables_of(term)}
    columns = [column for scan in joined_scans(rule.plan.node) for column in scan.columns]
    return any(column is None or (isinstance(column, str) and column not in shown) for column in columns)
