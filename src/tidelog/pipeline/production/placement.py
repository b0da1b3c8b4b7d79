"""Which partition matches which instantiations of production rules, and has which facts.

A rule is restricted by one of its variables: partition p has the instantiations whose value of that variable belongs to
p. So p needs of each relation the rows with such a value in the variable's column, or all rows where an atom does not
have the variable. What ordinary rules derive under the production rules is derived in every partition, from all facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.analysis.checked import CheckedProgram
from tidelog.analysis.traversal import all_literals
from tidelog.language.syntax_tree import Atom, Literal, Negation
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.nodes import Node, RulePlan, Scan, Version
from tidelog.plan.placement import EVERYWHERE, UNKNOWN_SIZE, WHOLE_ROW, copy_of
from tidelog.plan.walk import map_inputs, scans_of
from tidelog.production.late.derivations import Asked, Derivations, Flip, changed, derivations_of
from tidelog.production.support import relations_needed, supporting
from tidelog.schema import Schema

AT_ONE_PLACE = ""
"""What restricts a rule that has no variable for it: one partition has all its instantiations."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where rules run and facts are.

    `rules` are the alternatives of the rules over the copies that partitions have, `variables` what restricts each.
    `ways` say how a relation's rows find the partitions that read them: by a column, or EVERYWHERE; WHOLE_ROW is for
    rows that nobody reads. `owners` is the way to the one partition that gives a row as part of the answer, for the
    relations that rules act on. `derived` are those of ordinary rules.
    """

    rules: tuple[Derivations, ...]
    variables: tuple[str, ...]
    ways: Mapping[str, tuple[int, ...]]
    owners: Mapping[str, int]
    derived: frozenset[str]

    def homes(self, relation: str) -> tuple[int, ...]:
        """The ways to all partitions that have rows of `relation`: those that read them, and their owner."""
        ways = self.ways[relation]
        if relation in self.derived or EVERYWHERE in ways:
            return (EVERYWHERE,)
        return tuple(dict.fromkeys((*ways, self.owners[relation]))) if relation in self.owners else ways

    def stays_home(self, position: int) -> bool:
        """Whether all that the rule at this position asks for is at home where it runs."""
        rule, variable = self.rules[position], self.variables[position]
        return all(
            len(self.homes(head.relation)) == 1 and variable in _at(rule, head, self.homes(head.relation)[0])
            for head in rule.asked
        )

    def copies(self) -> Iterator[tuple[str, str, int]]:
        """The parts of what a partition has of a relation that are kept apart: name of the copy, relation and way."""
        for relation, ways in self.ways.items():
            for way in ways:
                name = copy_name(relation, way, self.homes(relation))
                if name != relation:
                    yield name, relation, way


def place(checked: CheckedProgram, sizes: Mapping[str, int], partitions: int) -> Placement:
    """The placement in which the fewest rows are copied. `sizes` has the rows of relations, as far as known."""
    rules = [each for rule in checked.productions for each in derivations_of(rule, checked.schemas)]
    program = supporting(checked)
    derived = frozenset(name for stratum in program.strata for name in stratum.relations)
    below = {name for stratum in program.strata for rule in stratum.rules for name in _read_by(rule.body)}
    fixed = {(name, EVERYWHERE) for name in below}
    variables = _choose(rules, fixed, derived, sizes, partitions)
    found = fixed.union(*(_ways(each, name) for each, name in zip(rules, variables, strict=True)))
    ways = {
        name: tuple(way for other, way in sorted(found) if other == name) for name in sorted(relations_needed(checked))
    }
    acted_on = dict.fromkeys(head.atom.relation for rule in checked.productions for head in rule.heads)
    owners = {name: _owner(ways[name], checked.schemas[name]) for name in acted_on}
    placement = Placement((), variables, ways, owners, derived)
    placed = (_over_copies(each, name, placement) for each, name in zip(rules, variables, strict=True))
    return replace(placement, rules=tuple(placed))


def copy_name(relation: str, way: int, homes: Sequence[int]) -> str:
    """The name of the rows that are there by `way`: the relation's own where there are no others."""
    return relation if way == EVERYWHERE or tuple(homes) == (way,) else copy_of(relation, way)


def _choose(
    rules: Sequence[Derivations],
    fixed: set[tuple[str, int]],
    derived: frozenset[str],
    sizes: Mapping[str, int],
    partitions: int,
) -> tuple[str, ...]:
    """A variable for each rule: the best for itself at first, then such that to change one alone would not help."""
    candidates = [_restricting(each) or [AT_ONE_PLACE] for each in rules]

    def cost(variables: Sequence[str]) -> int:
        return cost_of(fixed.union(*(_ways(each, name) for each, name in zip(rules, variables, strict=True))))

    def cost_of(ways: set[tuple[str, int]]) -> int:
        whole = {name for name, way in ways if way == EVERYWHERE}
        copies = [(name, way) for name, way in ways if name not in derived and (way == EVERYWHERE or name not in whole)]
        return sum(sizes.get(name, UNKNOWN_SIZE) * (partitions if way == EVERYWHERE else 1) for name, way in copies)

    def best_alone(rule: Derivations, names: Sequence[str]) -> str:
        return min(names, key=lambda name: cost_of(fixed | _ways(rule, name)))

    chosen = [best_alone(rule, names) for rule, names in zip(rules, candidates, strict=True)]
    improved = True
    while improved:
        improved = False
        for position, names in enumerate(candidates):
            best = min(([*chosen[:position], name, *chosen[position + 1 :]] for name in names), key=cost)
            if cost(best) < cost(chosen):
                chosen, improved = best, True
    return tuple(chosen)


def _restricting(rule: Derivations) -> list[str]:
    """The variables that every plan of `rule` gets from a row, so that its rows restrict the instantiations."""
    bound = [
        {name for scan in joined_scans(plan.node) for name in scan.columns if isinstance(name, str)}
        for plan in _plans(rule)
    ]
    return sorted(set.intersection(*bound))


def _ways(rule: Derivations, variable: str) -> set[tuple[str, int]]:
    """How the relations that `rule` reads are needed where `variable` restricts it."""
    marks = {changed(flip.relation): flip.relation for flip in rule.flips}
    scans = (scan for plan in _plans(rule) for scan in scans_of(plan.node))
    return {(marks.get(scan.relation, scan.relation), _way(scan, variable)) for scan in scans}


def _plans(rule: Derivations) -> Iterator[RulePlan]:
    yield rule.all
    yield from (flip.plan for flip in rule.flips)


def _way(scan: Scan, variable: str) -> int:
    return scan.columns.index(variable) if variable in scan.columns else EVERYWHERE


def _owner(ways: tuple[int, ...], schema: Schema) -> int:
    """The way to the owner of a row: one by which it is read anyway, if there is one."""
    columns = [way for way in ways if way != EVERYWHERE]
    return columns[0] if columns else 0 if schema.arity == 1 else WHOLE_ROW


def _over_copies(rule: Derivations, variable: str, placement: Placement) -> Derivations:
    """`rule` with the copies by their names in its plans."""

    def copy(relation: str, scan: Scan) -> str:
        return copy_name(relation, _way(scan, variable), placement.homes(relation))

    def over(plan: RulePlan, mark: str) -> RulePlan:
        def rewrite(node: Node) -> Node:
            match node:
                case Scan(version=Version.MARKED):
                    return replace(node, relation=changed(copy(mark, node)))
                case Scan(relation):
                    return replace(node, relation=copy(relation, node))
                case _:
                    return map_inputs(node, rewrite)

        return replace(plan, node=rewrite(plan.node))

    def flipped(flip: Flip) -> Iterator[Flip]:
        for scan in scans_of(flip.plan.node):  # none, where the body can never hold
            if scan.version is Version.MARKED:
                yield replace(flip, relation=copy(flip.relation, scan), plan=over(flip.plan, flip.relation))

    names = {name: relation for name, relation, _ in placement.copies()}
    aggregated = rule.aggregated | {name for name, relation in names.items() if relation in rule.aggregated}
    flips = tuple(each for flip in rule.flips for each in flipped(flip))
    return replace(rule, all=over(rule.all, ""), flips=flips, aggregated=aggregated)


def _at(rule: Derivations, head: Asked, way: int) -> tuple[str, ...]:
    """The variable of a derivation that has the value by which a fact that it asks for finds its home."""
    return (rule.schema.names[head.columns[way]],) if way >= 0 else ()


def _read_by(body: Iterable[Literal]) -> Iterator[str]:
    for literal in all_literals(body):
        match literal:
            case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
                yield relation
