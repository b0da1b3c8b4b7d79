"""One symbolic rule application: takes a rule and perhaps a symbolic fact, returns what is left to do at run time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from tidelog.codegen.graph_nodes import Assignment, Copy, GraphRule
from tidelog.codegen.symbolic import Check, Known, ProgramVariable, SymbolicFact, SymbolicTerm, unify
from tidelog.language.syntax_tree import Constant, Term, Variable
from tidelog.plan.nodes import Node, Project, Scan
from tidelog.plan.passes.fold_constants import fold_node, is_never
from tidelog.plan.passes.merge_equals import substitute, substitute_term
from tidelog.plan.spine import Operation, Source, flatten
from tidelog.schema import Kind, Schema


@dataclass(frozen=True, slots=True)
class Application:
    """What `RuleNode` says about an application, before it has a place in a graph."""

    result: SymbolicFact
    taken: Scan | None
    checks: tuple[Check, ...]
    copies: tuple[Copy, ...]
    conflict: frozenset[ProgramVariable]
    bound: Mapping[str, ProgramVariable]
    sources: tuple[Source, ...]
    conditions: tuple[Operation, ...]
    sets: Mapping[str, ProgramVariable]
    head: tuple[Term, ...]
    assignments: tuple[Assignment, ...]


class Columns(Enum):
    """What holds the columns of the facts that a rule derives."""

    OF_RULES = "rules"  # variables of the rules that gave the values, as in the paper: nothing is copied
    OF_RELATION = "relations"  # variables of the relation; only known values tell its symbolic facts apart
    GENERALISED = "generalised"  # variables of the relation in every column: it has one symbolic fact


@dataclass(frozen=True, slots=True)
class Site:
    """Where facts can be taken: a rule, its plan with the versions that this site reads, and the literal's position."""

    rule: GraphRule
    node: Node
    position: int | None  # among the sources of the body; None where no fact is taken

    @property
    def taken(self) -> Scan | None:
        """The literal that takes a fact."""
        if self.position is None:
            return None
        scan = flatten(body_of(self.node)).sources[self.position]
        assert isinstance(scan, Scan)
        return scan


def apply_rule(site: Site, fact: SymbolicFact | None, schema: Schema, columns: Columns) -> Application | None:
    """The application of a rule to `fact`; None where no row could ever pass. `schema` is that of the head."""
    names: Mapping[str, SymbolicTerm] = {}
    checks: tuple[Check, ...] = ()
    if fact is not None:
        assert site.taken is not None
        unifier = unify(site.taken, fact)
        if unifier is None:
            return None
        names, checks = unifier.names, unifier.checks
    known = {name: term.constant for name, term in names.items() if isinstance(term, Known)}
    body = with_values(body_of(site.node), known, site.rule.plan.kinds)
    if is_never(body):
        return None
    head = tuple(term_with_values(term, known) for term in head_of(site.node))
    spine = flatten(body)
    rest = tuple(source for place, source in enumerate(spine.sources) if place != site.position)
    passed = {name: term for name, term in names.items() if isinstance(term, ProgramVariable)}
    sets = dict(new_variables(head, passed, site.rule)) if columns is Columns.OF_RULES else {}
    assignments = tuple(assigned_columns(head, site.rule, schema, columns))
    written = {*sets.values(), *(assignment.target for assignment in assignments)}
    conflict = frozenset() if fact is None else fact.variables & written
    copies: tuple[Copy, ...] = ()
    if conflict:
        copies = tuple(copies_of(passed, site.rule))
        passed = {name: copy.target for name, copy in zip(passed, copies, strict=True)}
    result = derived_fact(head, {**passed, **sets}, assignments, schema)
    return Application(
        result, site.taken, checks, copies, conflict, passed, rest, spine.others, sets, head, assignments
    )


def body_of(node: Node) -> Node:
    assert isinstance(node, Project)
    return node.input


def head_of(node: Node) -> tuple[Term, ...]:
    assert isinstance(node, Project)
    return node.columns


def with_values(body: Node, known: Mapping[str, Constant], kinds: Mapping[str, Kind]) -> Node:
    """`body` with constants in place of names, and the tests decided that this decides."""
    for name, constant in known.items():
        body = substitute(body, name, constant)
    return fold_node(body, kinds) if known else body


def term_with_values(term: Term, known: Mapping[str, Constant]) -> Term:
    """`term` with constants in place of names. A computed column is not folded: its values would be facts without end
    (`p(x + 1) :- p(x)`), where the constants of the program are finitely many."""
    for name, constant in known.items():
        term = substitute_term(term, name, constant)
    return term


def new_variables(
    head: Iterable[Term], passed: Mapping[str, ProgramVariable], rule: GraphRule
) -> Iterator[tuple[str, ProgramVariable]]:
    """A program variable for each name of the head that the taken literal does not give (5.1)."""
    for term in head:
        if isinstance(term, Variable) and term.name not in passed:
            yield term.name, ProgramVariable(rule.label, term.name, rule.plan.kinds[term.name])


def assigned_columns(head: Iterable[Term], rule: GraphRule, schema: Schema, columns: Columns) -> Iterator[Assignment]:
    """What must be assigned to have the columns of the head where they should be."""
    for term, attribute in zip(head, schema.attributes, strict=True):
        match columns, term:
            case (Columns.OF_RULES, Variable() | Constant()) | (Columns.OF_RELATION, Constant()):
                continue
            case (Columns.OF_RULES, _):
                yield Assignment(
                    ProgramVariable(rule.label, f"@{attribute.name}", attribute.kind), term, attribute.name
                )
            case _:
                target = ProgramVariable(f"_{schema.relation}", attribute.name, attribute.kind)
                yield Assignment(target, term, attribute.name)


def copies_of(passed: Mapping[str, ProgramVariable], rule: GraphRule) -> Iterator[Copy]:
    """A variable of the rule's own for each name that the fact gives (5.4)."""
    for name, source in passed.items():
        yield Copy(ProgramVariable(rule.label, name, source.kind), source)


def derived_fact(
    head: Iterable[Term],
    variables: Mapping[str, ProgramVariable],
    assignments: Iterable[Assignment],
    schema: Schema,
) -> SymbolicFact:
    """The symbolic fact of the head, from what is assigned and, for other columns, from the variables of the rule."""
    assigned = {each.column: each.target for each in assignments}
    terms: list[SymbolicTerm] = []
    for term, attribute in zip(head, schema.attributes, strict=True):
        match term:
            case _ if attribute.name in assigned:
                terms.append(assigned[attribute.name])
            case Variable(name):
                terms.append(variables[name])
            case Constant(value):
                terms.append(Known(value, attribute.kind))
            case _:
                raise AssertionError(f"nothing holds the column {attribute.name} of {schema}")
    return SymbolicFact(schema.relation, tuple(terms))
