"""The rule application graph (section 5.3 of the Push paper): fact nodes, rule nodes, and what is decided about them.

Nodes refer to one another by number, which is the position in `ApplicationGraph.facts` and `.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.codegen.symbolic import Check, ProgramVariable, SymbolicFact
from tidelog.language.syntax_tree import Term
from tidelog.plan.nodes import RulePlan, Scan
from tidelog.plan.spine import Operation, Source
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class GraphRule:
    """A rule of the program in the form that the graph applies."""

    label: str  # tells rules apart, also those that come from one rule of the user's: 3, 3_2, e1 (eqrel), g_p (given)
    plan: RulePlan  # its algebra, every scan FULL, and the id, place and text of the user's rule
    stratum: int  # the position of its head's stratum
    may_fail: bool  # whether an expression of it can be without a value, which is an error that has to be reported


@dataclass(frozen=True, slots=True)
class Copy:
    """`target := source`, where a rule would overwrite what it still reads (5.4). All copies are made at once."""

    target: ProgramVariable
    source: ProgramVariable


@dataclass(frozen=True, slots=True)
class Assignment:
    """`target := term` once the body holds: a computed column, or a column that its relation has a variable for."""

    target: ProgramVariable
    term: Term  # over the names of the rule
    column: str  # the column of the result that it is for


@dataclass(frozen=True, slots=True)
class RuleNode:
    """A symbolic rule application: a rule, the literal that takes a fact, and that fact.

    In the order of what happens at run time: `checks`, `copies`, then the body (`sources` under `conditions`), and for
    each way in which it holds `sets`, `assignments`, and the result.
    """

    number: int  # its position in the graph
    rule: GraphRule  # the rule that is applied
    fact: int | None  # the fact node that it takes; None where it starts from stored rows or the text
    taken: Scan | None  # the literal that takes the fact, as the rule has it
    checks: tuple[Check, ...]  # equalities of the unification that only rows can decide
    copies: tuple[Copy, ...]  # made before anything is set; empty where there is no conflict
    conflict: frozenset[ProgramVariable]  # variables of the fact that this application would overwrite (5.4)
    bound: Mapping[str, ProgramVariable]  # what holds each name of the taken literal, after the copies
    sources: tuple[Source, ...]  # the other literals, ranges and rows of the text, in text order, constants put in
    conditions: tuple[Operation, ...]  # comparisons, tests, negation, computed values and aggregates, in text order
    sets: Mapping[str, ProgramVariable]  # names that the body gives and the result needs: values to be kept
    head: tuple[Term, ...]  # the columns of the result over the names of the rule
    assignments: tuple[Assignment, ...]  # made at once, after `sets`
    result: int  # the fact node that it derives
    removed: str = ""  # why no code is needed; empty where it is
    reports: bool = False  # whether it stays, though nothing wanted follows, because it may fail

    @property
    def own_variables(self) -> tuple[ProgramVariable, ...]:
        """Every program variable that it sets: what has to be saved where it is entered again (5.6)."""
        targets = (*(copy.target for copy in self.copies), *self.sets.values(), *(a.target for a in self.assignments))
        return tuple(dict.fromkeys(targets))


@dataclass(frozen=True, slots=True)
class FactNode:
    """A symbolic fact, with the rule applications that derive it and that take it."""

    number: int  # its position in the graph
    fact: SymbolicFact  # relation and terms
    derived_by: tuple[int, ...]  # numbers of rule nodes
    taken_by: tuple[int, ...]  # numbers of rule nodes
    generalised: str = ""  # why it stands for several symbolic facts of its relation; empty where it does not
    removed: str = ""  # why no code is needed; empty where it is


@dataclass(frozen=True, slots=True)
class DuplicateCheck:
    """Rows of `relation` go on only when they are new: they are entered into a set of rows first (section 4).

    Where the relation is not stored, it runs in one phase, and the set can go when that ends.
    """

    relation: str
    reasons: tuple[str, ...]  # why it is there, at least one


@dataclass(frozen=True, slots=True)
class Cycle:
    """Nodes that lead to one another: code that can be entered again while it runs."""

    facts: tuple[int, ...]  # numbers of its fact nodes
    rules: tuple[int, ...]  # numbers of its rule nodes
    checked: tuple[str, ...]  # its relations with a duplicate check: without them nothing leads back


@dataclass(frozen=True, slots=True)
class Phase:
    """Rule nodes that run together. Every stored relation that they look up is complete by then, or grows here."""

    stratum: int  # the position of the stratum in the program
    relations: tuple[str, ...]  # the stored relations that are complete after it
    starts: tuple[int, ...]  # rule nodes that take no fact: where it begins, in the order of the text
    rules: tuple[int, ...]  # every rule node that runs in it, the starts too; one may run in several phases


@dataclass(frozen=True, slots=True)
class ApplicationGraph:
    """The rule application graph of a program, with everything that a generator of code needs."""

    schemas: Mapping[str, Schema]  # columns of every relation, `p@given` for what was given to a derived relation p
    wanted: frozenset[str]  # relations whose rows were asked for
    facts: tuple[FactNode, ...]  # in the order in which they were found
    rules: tuple[RuleNode, ...]  # in the order in which they were found
    stored: Mapping[str, tuple[str, ...]]  # derived relations whose rows are kept to be read, with the reasons
    checks: Mapping[str, DuplicateCheck]  # by relation; every stored relation has one
    cycles: tuple[Cycle, ...]  # of nodes that are not removed
    phases: tuple[Phase, ...]  # in order of evaluation, without removed nodes
    idle: tuple[GraphRule, ...]  # rules that apply to no symbolic fact, or whose body never holds: they have no node

    def is_pushed(self, relation: str) -> bool:
        """Whether rows of a derived relation are used at once and never kept."""
        return relation not in self.checks and any(node.fact.relation == relation for node in self.facts)
