"""Where a duplicate check pays, by what is known about stored rows. Guesses; answers never depend on them.

The rule: a check of a relation pays when

    (rows derived - different rows) x work behind each row  >  rows derived x CHECK

where the work behind a row is the number of rows that the rules touch which take it, down to the next check. Rows and
work come from `plan.estimate`; the different rows are at most the product of the different values of the columns. A
relation about which nothing is known counts as empty, so no check is placed for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    numbers: dict[str, list[int]] = {}
    for node in pushed:
        numbers.setdefault(node.fact.relation, []).append(node.number)
    guesses = Guesses(frozenset(node.number for node in pushed), facts, rules, statistics)
    for relation, of_relation in numbers.items():
        flow = together([guesses.flow(number) for number in of_relation])
        work = sum(map(guesses.work_behind, of_relation))
        if (flow.rows - flow.different) * work > flow.rows * CHECK:
            yield (
                relation,
                f"about {flow.rows - flow.different:,.0f} of {flow.rows:,.0f} rows are expected to be duplicates, "
                f"with {work:,.1f} rows touched behind each",
            )


@dataclass(frozen=True, slots=True)
class Flow:
    """How many rows a fact is guessed to get, how many of them differ, and the different values of its columns."""

    rows: float
    different: float
    columns: tuple[float, ...]


def together(flows: Sequence[Flow]) -> Flow:
    """What several have together."""
    rows = sum(flow.rows for flow in flows)
    columns = tuple(map(sum, zip(*(flow.columns for flow in flows), strict=True)))
    return Flow(rows, min(rows, prod(columns)), columns)


@dataclass(slots=True)
class Guesses:
    """Guesses about the pushed facts, each made once. Among them nothing leads back to itself; a relation may lead to
    itself, from one of its facts to another."""

    pushed: frozenset[int]
    facts: Sequence[FactNode]
    rules: Sequence[RuleNode]
    statistics: Statistics
    flows: dict[int, Flow] = field(default_factory=dict)
    works: dict[int, float] = field(default_factory=dict)

    def flow(self, number: int) -> Flow:
        """The rows of a fact: guessed where it is pushed, those of its relation where that is stored."""
        if number not in self.flows:
            node = self.facts[number]
            derived = [self._rule_flow(self.rules[by]) for by in node.derived_by] if number in self.pushed else []
            self.flows[number] = together(derived) if derived else self._counted(node)
        return self.flows[number]

    def work_behind(self, number: int) -> float:
        """How many rows are touched for each row of a pushed fact, down to the next check."""
        if number not in self.works:
            taking = self.facts[number].taken_by if number in self.pushed else ()
            self.works[number] = sum(self._work(self.rules[by]) for by in taking if not self.rules[by].removed)
        return self.works[number]

    def _work(self, node: RuleNode) -> float:
        """How many rows are touched for one row more that `node` takes: what is made ready once does not count."""
        one, two = (run_body(node, rows, self.statistics) for rows in (1.0, 2.0))
        return two.cost - one.cost + one.rows * self.work_behind(node.result)

    def _counted(self, node: FactNode) -> Flow:
        relation = node.fact.relation
        rows = float(self.statistics.rows(relation, Version.FULL))
        columns = (min(rows, self.statistics.distinct(relation, (at,))) for at in range(len(node.fact.terms)))
        return Flow(rows, rows, tuple(columns))

    def _rule_flow(self, node: RuleNode) -> Flow:
        """What one rule application derives."""
        taken = None if node.fact is None else self.flow(node.fact)
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
