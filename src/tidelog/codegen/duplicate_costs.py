"""Where a duplicate check pays, by what is known about stored rows. Guesses; answers never depend on them.

The rule: a check of a relation pays when

    (rows derived - different rows) x work behind each row  >  rows derived x CHECK

where the work behind a row is the number of rows that the rules touch which take it, down to the next check. Rows and
work come from `plan.estimate`; the different rows are at most the product of the different values of the columns. A
relation about which nothing is known counts as empty, so no check is placed for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tidelog.codegen.graph_nodes import FactNode, RuleNode
from tidelog.language.syntax_tree import Constant, Term, Variable
from tidelog.plan.estimate import Estimator, Prefix, Sources
from tidelog.plan.nodes import Distinct, Scan, Version
from tidelog.plan.spine import UNIT, Source, needs
from tidelog.plan.statistics import Statistics

CHECK = 2.0
"""What it costs to enter a row into a set, in rows touched: one probe and one write."""


def checks_that_pay(
    pushed: Sequence[FactNode], facts: Sequence[FactNode], rules: Sequence[RuleNode], statistics: Statistics
) -> Iterator[tuple[str, str]]:
    """The pushed relations for which a check is expected to pay, with the reason."""
    nodes: dict[str, list[FactNode]] = {}
    for node in pushed:
        nodes.setdefault(node.fact.relation, []).append(node)
    guesses = Guesses(nodes, facts, rules, statistics)
    for relation in nodes:
        flow, work = guesses.flow(relation), guesses.work_behind(relation)
        if (flow.rows - flow.different) * work > flow.rows * CHECK:
            yield (
                relation,
                f"about {flow.rows - flow.different:,.0f} of {flow.rows:,.0f} rows are expected to be duplicates, "
                f"with {work:,.1f} rows touched behind each",
            )


@dataclass(frozen=True, slots=True)
class Flow:
    """How many rows a relation is guessed to get, how many of them differ, and the different values of its columns."""

    rows: float
    different: float
    columns: tuple[float, ...]


@dataclass(slots=True)
class Guesses:
    """Guesses about the pushed relations, each made once. Among them nothing leads back to itself."""

    pushed: Mapping[str, Sequence[FactNode]]
    facts: Sequence[FactNode]
    rules: Sequence[RuleNode]
    statistics: Statistics
    flows: dict[str, Flow] = field(default_factory=dict)
    works: dict[str, float] = field(default_factory=dict)

    def flow(self, relation: str) -> Flow:
        """The rows of `relation`: guessed where it is pushed, counted where it is stored."""
        if relation not in self.flows:
            self.flows[relation] = self._derived(relation) if relation in self.pushed else self._counted(relation)
        return self.flows[relation]

    def work_behind(self, relation: str) -> float:
        """How many rows are touched for each row of a pushed relation, down to the next check."""
        if relation not in self.works:
            taking = (self.rules[number] for node in self.pushed.get(relation, ()) for number in node.taken_by)
            self.works[relation] = sum(self._work(node) for node in taking if not node.removed)
        return self.works[relation]

    def _work(self, node: RuleNode) -> float:
        """How many rows are touched for one row more that `node` takes: what is made ready once does not count."""
        one, two = (run_body(node, rows, self.statistics) for rows in (1.0, 2.0))
        return two.cost - one.cost + one.rows * self.work_behind(self.facts[node.result].fact.relation)

    def _counted(self, relation: str) -> Flow:
        rows = float(self.statistics.rows(relation, Version.FULL))
        arity = next(len(node.fact.terms) for node in self.facts if node.fact.relation == relation)
        return Flow(rows, rows, tuple(min(rows, self.statistics.distinct(relation, (at,))) for at in range(arity)))

    def _derived(self, relation: str) -> Flow:
        """What all rules for `relation` derive together."""
        numbers = [number for node in self.pushed[relation] for number in node.derived_by]
        flows = [self._rule_flow(self.rules[number]) for number in numbers]
        rows = sum(flow.rows for flow in flows)
        columns = tuple(map(sum, zip(*(flow.columns for flow in flows), strict=True)))
        return Flow(rows, min(rows, prod(columns)), columns)

    def _rule_flow(self, node: RuleNode) -> Flow:
        """What one rule application derives."""
        taken = None if node.fact is None else self.flow(self.facts[node.fact].fact.relation)
        end = run_body(node, 1.0 if taken is None else taken.rows, self.statistics)
        columns = tuple(min(end.rows, self._values(term, node, taken, end)) for term in node.head)
        return Flow(end.rows, min(end.rows, prod(columns)), columns)

    def _values(self, term: Term, node: RuleNode, taken: Flow | None, end: Prefix) -> float:
        """How many different values a column of the head has."""
        if isinstance(term, Constant):
            return 1.0
        if not isinstance(term, Variable):
            return end.rows
        found = [
            float(self.statistics.distinct(source.relation, (at,)))
            for source in node.sources
            if isinstance(source, Scan)
            for at, column in enumerate(source.columns)
            if column == term.name
        ]
        if taken is not None and node.taken is not None:
            found += [taken.columns[at] for at, column in enumerate(node.taken.columns) if column == term.name]
        return min(found, default=end.rows)


def run_body(node: RuleNode, incoming: float, statistics: Statistics) -> Prefix:
    """The guess for the body of a rule application on so many rows of what it takes, cheapest literal first."""
    sources: tuple[Source, ...] = (Distinct(UNIT, tuple(node.bound)), *node.sources)
    estimator = Estimator(Sources(sources), {0: incoming}, statistics)
    prefix = estimator.step(estimator.start(node.conditions), 0)
    waiting = set(range(1, len(sources)))
    while waiting:
        ready = [place for place in waiting if needs(sources[place]) <= prefix.values.keys()]
        steps = [estimator.step(prefix, place) for place in sorted(ready)]
        prefix = min(steps, key=lambda step: step.rows)
        waiting.remove(prefix.order[-1])
    return prefix
