"""Where the rules of a stratum run when several partitions share the work: restricted versions of each rule.

A rule is restricted by one of its variables: partition p runs the instantiations whose value of that variable belongs
to p, and only those. So it needs of each relation the rows with such a value in the variable's column, or all rows
where the atom does not have the variable. Such a part of a relation is a copy of it. What the 1991 paper on data
reduction calls data handler (section 6) is here the owner of a row, and a rule handler is a partition with its copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice, product

from tidelog.language.syntax_tree import Variable
from tidelog.plan.differentiate import differentiate, joined_scans
from tidelog.plan.nodes import ClosedRelation, Node, Project, RulePlan, Scan, StratumPlan
from tidelog.plan.walk import map_inputs, scans_of
from tidelog.schema import Schema

EVERYWHERE = -1
"""The way of a copy that every partition has in full."""

WHOLE_ROW = -2
"""The way of rows that belong to the partition that all their columns say together."""

MOST_ASSIGNMENTS = 20_000
"""Ways to give each relation of a stratum a column that are tried."""

UNKNOWN_SIZE = 1_000_000
LEAST_SIZE = 1_000
GROWTH = 4
"""How many times larger than what it begins with a derived relation is taken to be."""

_MAIL = 0.1


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule as a partition runs it, over copies. Where nothing restricts it, each partition derives the same."""

    rule: RulePlan
    is_restricted: bool


@dataclass(frozen=True, slots=True)
class Placement:
    """The copies of each relation by their ways, and the rules over them.

    A way is a column, EVERYWHERE or WHOLE_ROW. The owner of a row of a derived relation is the partition that gives it
    as part of the answer. Where `is_local`, whatever a partition derives by a restricted rule is its own: derived
    relations have no other copies then, and rules read them by their own names. Modules need all edges in one place.
    """

    derived: tuple[str, ...]
    ways: Mapping[str, tuple[int, ...]]
    owners: Mapping[str, int]
    once: tuple[PlacedRule, ...]
    rounds: tuple[PlacedRule, ...]
    is_local: bool
    modules: tuple[ClosedRelation, ...] = ()

    def copies(self) -> Iterator[tuple[str, int]]:
        """Every copy of a relation that is not derived here: its relation and its way."""
        return ((name, way) for name, ways in self.ways.items() if name not in self.derived for way in ways)


def copy_of(relation: str, way: int) -> str:
    """The name of a copy of `relation`."""
    return f"{relation}@{'all' if way == EVERYWHERE else way}"


def place_alone(stratum: StratumPlan) -> Placement:
    """One partition that has everything."""
    placed = _place(stratum, [None] * len(_rules(stratum)), dict.fromkeys(stratum.relations, WHOLE_ROW), Where.ALONE)
    return replace(placed, modules=stratum.modules)


def place_preserved(stratum: StratumPlan, schemas: Mapping[str, Schema], sizes: Mapping[str, int]) -> Placement | None:
    """A placement in which no row ever leaves its partition; None where no variable is preserved.

    That is so when each relation has a column such that in every recursive rule the head and all recursive atoms have
    the same variable there. Of several, the one that copies the fewest rows to everywhere.
    """
    placed = [
        _place(stratum, _preserved_variables(stratum, columns), columns, Where.LOCAL)
        for columns in _preserved_columns(stratum, schemas)
    ]
    return min(placed, key=lambda each: copied_rows(each, sizes), default=None)


def place_rounds(
    stratum: StratumPlan, schemas: Mapping[str, Schema], sizes: Mapping[str, int], partitions: int
) -> Placement:
    """A placement for rounds: for each rule the variable with which the fewest rows have to be copied."""
    rules = _rules(stratum)
    candidates: list[list[str | None]] = [[*_bound_by_atoms(rule.node)] or [None] for rule in rules]
    weights = {name: sizes.get(name, UNKNOWN_SIZE) for rule in rules for name in _relations(rule)}
    lower = [size for name, size in weights.items() if name not in stratum.relations]
    weights |= dict.fromkeys(stratum.relations, GROWTH * max([LEAST_SIZE, *lower]))

    def cost(variables: Sequence[str | None]) -> float:
        ways = {
            (scan.relation, _way(scan, v)) for rule, v in zip(rules, variables, strict=True) for scan in _scans(rule)
        }
        copied = sum(weights[name] * (partitions if way == EVERYWHERE else 1) for name, way in ways)
        return copied + sum(
            _MAIL * weights[rule.head] * (v not in _head_names(rule)) for rule, v in zip(rules, variables, strict=True)
        )

    chosen: list[str | None] = [each[0] for each in candidates]
    improved = True
    while improved:
        improved = False
        for position, names in enumerate(candidates):
            options = [[*chosen[:position], name, *chosen[position + 1 :]] for name in names]
            best = min(options, key=cost)
            if cost(best) < cost(chosen):
                chosen, improved = best, True
    owners = {name: _owner(name, rules, chosen, schemas[name].arity) for name in stratum.relations}
    return _place(stratum, chosen, owners, Where.ROUNDS)


def copied_rows(placement: Placement, sizes: Mapping[str, int]) -> int:
    """How many rows each partition gets of relations that it has in full."""
    return sum(sizes.get(name, UNKNOWN_SIZE) for name, way in placement.copies() if way == EVERYWHERE)


class Where(Enum):
    """How derived relations are kept: see `Placement.is_local`."""

    ALONE = "alone"
    LOCAL = "local"
    ROUNDS = "rounds"


def _place(stratum: StratumPlan, variables: Sequence[str | None], owners: Mapping[str, int], where: Where) -> Placement:
    derived = stratum.relations
    is_local = where != Where.ROUNDS
    kept = frozenset(derived) if is_local else frozenset[str]()
    ways: dict[str, dict[int, None]] = {name: {} for name in derived}
    once: list[PlacedRule] = []
    rounds: list[PlacedRule] = []
    hints = iter(stratum.rounds)
    for rule, variable in zip(_rules(stratum), variables, strict=True):
        for scan in _scans(rule):
            ways.setdefault(scan.relation, {})[_way(scan, variable)] = None
        is_restricted = variable is not None or where == Where.ALONE
        over_copies = replace(rule, node=_over_copies(rule.node, variable, kept))
        recursive = frozenset(
            scan.relation if is_local else copy_of(scan.relation, _way(scan, variable))
            for scan in _scans(rule)
            if scan.relation in derived
        )
        versions = differentiate(over_copies, recursive)
        if versions:
            orders = [hint.order for hint in islice(hints, len(versions))]
            rounds += [
                PlacedRule(replace(version, order=order), is_restricted)
                for version, order in zip(versions, orders, strict=True)
            ]
        else:
            once.append(PlacedRule(over_copies, is_restricted))
    for name in derived:
        if is_local:
            ways[name] = {owners[name]: None}
        elif EVERYWHERE not in ways[name]:
            ways[name][owners[name]] = None
    return Placement(
        derived, {n: tuple(each) for n, each in ways.items()}, dict(owners), tuple(once), tuple(rounds), is_local
    )


def _rules(stratum: StratumPlan) -> tuple[RulePlan, ...]:
    return (*stratum.given, *stratum.once, *stratum.first)


def _scans(rule: RulePlan) -> Iterator[Scan]:
    return scans_of(rule.node)


def _relations(rule: RulePlan) -> Iterator[str]:
    return (scan.relation for scan in _scans(rule))


def _way(scan: Scan, variable: str | None) -> int:
    """Which rows of its relation a scan needs in a rule that `variable` restricts."""
    return scan.columns.index(variable) if variable is not None and variable in scan.columns else EVERYWHERE


def _over_copies(node: Node, variable: str | None, kept: frozenset[str]) -> Node:
    """`node` with the name of the copy in each scan of a relation that is not `kept` as it is."""
    if isinstance(node, Scan):
        return node if node.relation in kept else replace(node, relation=copy_of(node.relation, _way(node, variable)))
    return map_inputs(node, lambda below: _over_copies(below, variable, kept))


def _bound_by_atoms(node: Node) -> list[str]:
    """The variables that may restrict a rule: every instantiation gets their values from a row."""
    names = (column for scan in joined_scans(node) for column in scan.columns)
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _head_terms(rule: RulePlan) -> tuple[object, ...]:
    assert isinstance(rule.node, Project)
    return rule.node.columns


def _head_names(rule: RulePlan) -> list[str | None]:
    """The variable at each column of the head, None where it has another term."""
    return [term.name if isinstance(term, Variable) else None for term in _head_terms(rule)]


def _preserved_columns(stratum: StratumPlan, schemas: Mapping[str, Schema]) -> Iterator[dict[str, int]]:
    """Each choice of a column for every relation that no recursive rule breaks."""
    names = stratum.relations
    choices: Iterable[tuple[int, ...]] = product(*(range(schemas[name].arity) for name in names))
    for chosen in islice(choices, MOST_ASSIGNMENTS):
        columns = dict(zip(names, chosen, strict=True))
        if all(_keeps(rule, columns) for rule in stratum.first):
            yield columns


def _keeps(rule: RulePlan, columns: Mapping[str, int]) -> bool:
    name = _head_names(rule)[columns[rule.head]]
    recursive = [scan for scan in joined_scans(rule.node) if scan.relation in columns]
    return name is not None and all(scan.columns[columns[scan.relation]] == name for scan in recursive)


def _preserved_variables(stratum: StratumPlan, columns: Mapping[str, int]) -> list[str | None]:
    """The variable of each rule; None where the head's column is computed, or a constant."""
    names = [(_head_names(rule)[columns[rule.head]], rule) for rule in _rules(stratum)]
    return [name if name in _bound_by_atoms(rule.node) else None for name, rule in names]


def _owner(relation: str, rules: Sequence[RulePlan], variables: Sequence[str | None], arity: int) -> int:
    """The way by which the rows of a relation have an owner: one by which they are read anyway, if there is one."""
    read = {
        _way(scan, variable)
        for rule, variable in zip(rules, variables, strict=True)
        for scan in _scans(rule)
        if scan.relation == relation
    } - {EVERYWHERE}
    heads = [
        _head_names(rule).index(variable)
        for rule, variable in zip(rules, variables, strict=True)
        if rule.head == relation and variable is not None and variable in _head_names(rule)
    ]
    at_home = [way for way in heads if way in read]
    return next(iter([*at_home, *sorted(read), *heads]), WHOLE_ROW if arity != 1 else 0)
