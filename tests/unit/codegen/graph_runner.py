"""Runs a rule application graph as the paper's generated code would: one row at a time, program variables global.

Slow and plain. Each solution of a body overwrites the variables of its rule, what it derives is used at once, and the
variables are restored afterwards (5.6). So a variable conflict that the graph does not show gives wrong rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.codegen.graph_nodes import ApplicationGraph, Phase, RuleNode
from tidelog.codegen.symbolic import Known, ProgramVariable, SymbolicTerm
from tidelog.plan.nodes import Distinct, GroupJoin, Node, Unit, Values, Version
from tidelog.plan.spine import assemble
from tidelog.plan.walk import map_inputs
from tidelog.schema import Row, Value
from unit.plan import algebra


def run_graph(graph: ApplicationGraph, facts: Mapping[str, Iterable[Row]]) -> dict[str, set[Row]]:
    """The rows of the relations that are stored: those given, and those that the graph keeps."""
    machine = Machine(graph, {name: set(rows) for name, rows in facts.items()})
    for phase in graph.phases:
        for number in phase.starts:
            machine.fire(graph.rules[number], phase)
    return machine.rows


class Machine:
    def __init__(self, graph: ApplicationGraph, rows: dict[str, set[Row]]) -> None:
        self.graph = graph
        self.rows = rows
        self.variables: dict[ProgramVariable, Value] = {}

    def fire(self, node: RuleNode, phase: Phase) -> None:
        """Applies a rule to what its fact's variables hold now."""
        if any(self.variables[check.variable] != self.value(check.equals) for check in node.checks):
            return
        before = {variable: self.variables.get(variable) for variable in node.own_variables}
        taken = None if node.fact is None else self.row(self.graph.facts[node.fact].fact.terms)
        copied = {copy.target: self.variables[copy.source] for copy in node.copies}
        self.variables |= copied
        for solution in self.solutions(node, taken):
            self.variables |= {variable: solution[name] for name, variable in node.sets.items()}
            now = solution | {name: self.variables[variable] for name, variable in node.bound.items()}
            self.variables |= {each.target: algebra.value_of(each.term, now) for each in node.assignments}
            self.push(node, phase)
        for variable, value in before.items():
            if value is not None:
                self.variables[variable] = value

    def push(self, node: RuleNode, phase: Phase) -> None:
        """Hands the derived row to the rules that take it, if it is new or nobody asks."""
        derived = self.graph.facts[node.result]
        relation, row = derived.fact.relation, self.row(derived.fact.terms)
        if relation in self.graph.checks:
            known = self.rows.setdefault(relation, set())
            if row in known:
                return
            known.add(row)
        for number in derived.taken_by:
            if number in phase.rules:
                self.fire(self.graph.rules[number], phase)
                assert self.row(derived.fact.terms) == row, "a rule left other values behind than it found"

    def solutions(self, node: RuleNode, taken: Row | None) -> list[dict[str, Value]]:
        """The assignments for which the body holds."""
        names = tuple(node.bound)
        known = Values(
            names,
            tuple(variable.kind for variable in node.bound.values()),
            (tuple(self.variables[variable] for variable in node.bound.values()),),
        )
        body = with_outer(assemble((known, *node.sources) if names else node.sources, node.conditions))
        tables = {(name, Version.FULL): frozenset(rows) for name, rows in self.rows.items()}
        tables |= {(name, Version.OLD): frozenset(rows - {taken}) for name, rows in self.rows.items()}
        return algebra.evaluate(body, tables)

    def row(self, terms: Iterable[SymbolicTerm]) -> Row:
        return tuple(map(self.value, terms))

    def value(self, term: SymbolicTerm) -> Value:
        return term.value if isinstance(term, Known) else self.variables[term]


def with_outer(node: Node) -> Node:
    """`node` where aggregates have their left side again for the values that outer names have."""
    match node:
        case GroupJoin(left, right):
            left = with_outer(left)
            return GroupJoin(
                left, with_outer(starting(right, left)), node.keys, node.function, node.value, node.name, node.kind
            )
        case _:
            return map_inputs(node, with_outer)


def starting(node: Node, left: Node) -> Node:
    """`node` with the rows of `left` where it starts from outer values; aggregates inside have their own."""
    match node:
        case Distinct(Unit(), columns):
            return Distinct(left, columns)
        case GroupJoin():
            return GroupJoin(
                starting(node.left, left), node.right, node.keys, node.function, node.value, node.name, node.kind
            )
        case _:
            return map_inputs(node, lambda below: starting(below, left))
