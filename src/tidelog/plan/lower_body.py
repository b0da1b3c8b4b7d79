"""Takes the body of a rule, returns algebra: a left-deep tree in text order.

Literals become parts (see `spine`), and a part is put on the tree as soon as its names are bound. A name given by a
GroupJoin or a Range is given by nothing else: where the rule also binds it elsewhere, the group or range has a name
of its own (`@1`) and an equality ties the two. So later passes are free to move every part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from tidelog.analysis.alternatives import alternatives
from tidelog.analysis.checked import SimpleRule
from tidelog.analysis.traversal import own_terms
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Disjunction,
    Literal,
    Negation,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.plan.nodes import Antijoin, Distinct, Extend, GroupJoin, Node, Range, Scan, Select, Union, Values
from tidelog.plan.spine import OWN, UNIT, Operation, Source, is_ready, join, needs, put
from tidelog.plan.walk import columns_of, variables_of
from tidelog.schema import Kind, Schema, Value
from tidelog.span import Span

COMPUTED = "#"
"""How names start that stand for a computed argument of an atom."""

WILDCARD = "_#"
"""How names start that stand for a `_`."""

PADDING: Mapping[Kind, Value] = {Kind.NUMBER: 0, Kind.UNSIGNED: 0, Kind.FLOAT: 0.0, Kind.SYMBOL: ""}


def lower_body(rule: SimpleRule, schemas: Mapping[str, Schema]) -> tuple[Node, tuple[Term, ...], Mapping[str, Kind]]:
    """The body of `rule`, the terms of its head over the columns of that body, and the kind of every name in them."""
    names = Names(schemas, dict(rule.kinds), occurrences(rule), givers(rule))
    head: list[Part] = []
    terms = tuple(plain(term, names, head) for term in rule.head.arguments)
    node, waiting = build(UNIT, [*parts_of(rule.body, names), *head], names)
    assert not waiting, f"nothing binds the variables of {waiting}: the check should have refused {rule.text}"
    return node, terms, names.kinds


@dataclass(slots=True)
class Names:
    """The names of a rule: their kinds, how often each occurs, and how many places could bind it."""

    schemas: Mapping[str, Schema]
    kinds: dict[str, Kind]
    occurrences: Counter[str]
    givers: Counter[str]
    count: int = field(default=0)

    def fresh(self, kind: Kind, mark: str = COMPUTED) -> str:
        """A name that no rule can use."""
        self.count += 1
        name = f"{mark}{self.count}"
        self.kinds[name] = kind
        return name

    def outer(self, aggregate: Aggregate) -> frozenset[str]:
        """The variables of `aggregate` that also occur outside its braces."""
        inside = Counter(variables_in(aggregate))
        return frozenset(name for name, count in inside.items() if self.occurrences[name] > count)


@dataclass(frozen=True, slots=True)
class PendingAggregate:
    """An aggregate that waits for its outer variables, and the name its value will have."""

    name: str
    aggregate: Aggregate
    keys: frozenset[str]
    kind: Kind


Part: TypeAlias = Source | Operation | PendingAggregate


def build(node: Node, parts: Iterable[Part], names: Names) -> tuple[Node, list[Part]]:
    """`node` with each part put on it in order, and the parts whose names nothing binds.

    Aggregates come last: those that start from outer values then see as few as possible.
    """
    waiting: list[Part] = []
    for arriving in sorted(parts, key=lambda part: isinstance(part, PendingAggregate)):
        waiting.append(arriving)
        bound = frozenset(columns_of(node))
        while chosen := next((part for part in waiting if decidable(part, bound)), None):
            waiting = [part for part in waiting if part is not chosen]
            node = put_part(chosen, node, bound, names)
            bound = frozenset(columns_of(node))
    return node, waiting


def decidable(part: Part, bound: frozenset[str]) -> bool:
    """Whether everything that `part` needs is bound."""
    match part:
        case PendingAggregate(keys=keys):
            return keys <= bound
        case Scan() | Values() | Distinct() | Union() | Range():
            return needs(part) <= bound
        case Select() | Extend() | Antijoin() | GroupJoin():
            return is_ready(part, bound)
        case _:
            assert_never(part)


def put_part(part: Part, node: Node, bound: frozenset[str], names: Names) -> Node:
    """`part` on top of `node`."""
    match part:
        case PendingAggregate():
            return group(part, node, names)
        case Scan() | Values() | Distinct() | Union() | Range():
            return join(node, part)
        case Select() | Extend() | Antijoin() | GroupJoin():
            return put(part, node, bound)
        case _:
            assert_never(part)


def group(pending: PendingAggregate, left: Node, names: Names) -> GroupJoin:
    """`left` with the value of an aggregate as a new column.

    Equal rows of a body without alternatives stay: each is an assignment.
    """
    aggregate = pending.aggregate
    outer = Distinct(left, tuple(name for name in columns_of(left) if name in pending.keys))
    computing: list[Part] = []
    value = None if aggregate.target is None else plain(aggregate.target, names, computing)
    wanted = dict.fromkeys((*outer.columns, *(() if value is None else variables_of(value))))
    match alternatives(aggregate.body):
        case [body] if not any(map(is_unnamed_range, body)):
            right = assignments([*parts_of(body, names), *computing], wanted, outer, names)
        case _:
            right = alternative_assignments(aggregate, computing, wanted, outer, names)
    keys, span = outer.columns, aggregate.span
    return GroupJoin(left, right, keys, aggregate.function, value, pending.name, pending.kind, span)


def assignments(parts: Sequence[Part], wanted: Iterable[str], outer: Distinct, names: Names) -> Node:
    """The rows for which `parts` hold, with the columns `wanted` among others.

    Where the parts alone cannot bind an outer variable (`count : { q(y), y < x }`), they start from the values that it
    has on the left.
    """
    node, waiting = build(UNIT, parts, names)
    if waiting or not set(wanted) <= set(columns_of(node)):
        node, waiting = build(outer, parts, names)
        assert not waiting, f"nothing binds the variables of {waiting}: the check should have refused the aggregate"
    return node


def alternative_assignments(
    aggregate: Aggregate, computing: Sequence[Part], wanted: Iterable[str], outer: Distinct, names: Names
) -> Node:
    """The different assignments that some alternative of an aggregate's body allows; for min and max, their values.

    Assignments of different variables are different. So where alternatives have not the same variables, those that one
    lacks get some value there, and a number tells the sets of variables apart.
    """
    bodies = alternatives(with_wildcards_named(aggregate.body, names))
    columns = tuple(dict.fromkeys((*wanted, *(name for body in bodies for name in assigned(body)))))
    if not bodies:
        return Values(columns, tuple(names.kinds[name] for name in columns), ())
    inputs = [assignments([*parts_of(body, names), *computing], wanted, outer, names) for body in bodies]
    if aggregate.function in (AggregateFunction.MIN, AggregateFunction.MAX):
        return Union(tuple(inputs), tuple(wanted))
    variables = [frozenset(assigned(body)).union(outer.columns) for body in bodies]
    if len(set(variables)) == 1:
        return Union(tuple(inputs), columns)
    number, different = names.fresh(Kind.NUMBER), list(dict.fromkeys(variables))
    told_apart = (
        constant_column(
            padded(node, columns, aggregate.span, names), number, different.index(own), aggregate.span, names
        )
        for node, own in zip(inputs, variables, strict=True)
    )
    return Union(tuple(told_apart), (*columns, number))


def assigned(body: Iterable[Literal]) -> Iterator[str]:
    """The variables over whose assignments an aggregate with that body ranges, one for each occurrence."""
    return (term.name for term in own_terms(body) if isinstance(term, Variable))


def is_unnamed_range(literal: Literal) -> bool:
    """Whether `literal` has a range whose values belong to no variable (`1 = range(0, 3)`): they count once."""
    if not isinstance(literal, Comparison):
        return False
    sides = (literal.left, literal.right)
    return not any(isinstance(side, Variable) for side in sides) and any(
        isinstance(side, Call) and side.function == "range" for side in sides
    )


def with_wildcards_named(body: Iterable[Literal], names: Names) -> tuple[Literal, ...]:
    """`body` with a variable for each `_` of a positive atom: an assignment gives it a value too."""
    named: list[Literal] = []
    for literal in body:
        match literal:
            case Atom(relation=relation, arguments=arguments):
                columns = zip(arguments, names.schemas[relation].kinds, strict=True)
                terms = tuple(
                    Variable(names.fresh(kind, WILDCARD), term.span) if isinstance(term, Wildcard) else term
                    for term, kind in columns
                )
                named.append(replace(literal, arguments=terms))
            case Disjunction(alternatives=parts):
                named.append(replace(literal, alternatives=tuple(with_wildcards_named(part, names) for part in parts)))
            case _:
                named.append(literal)
    return tuple(named)


def padded(node: Node, columns: Iterable[str], span: Span, names: Names) -> Node:
    """`node` with a constant in each of `columns` that it lacks."""
    for name in columns:
        if name not in columns_of(node):
            node = constant_column(node, name, PADDING[names.kinds[name]], span, names)
    return node


def constant_column(node: Node, name: str, value: Value, span: Span, names: Names) -> Node:
    """`node` with one more column that has the same value everywhere."""
    kind = names.kinds[name]
    return Extend(node, name, Constant(value, kind, span, kind), kind, span)


def parts_of(body: Sequence[Literal], names: Names) -> Iterator[Part]:
    """The parts that say what the literals of `body` say, in text order."""
    for literal in body:
        before: list[Part] = []
        match literal:
            case Atom():
                scan = scan_of(literal, names, before)
                yield from (*before, scan)
            case Negation(atom):
                scan = scan_of(atom, names, before)
                yield from (*before, Antijoin(UNIT, scan, literal.span))
            case Comparison():
                condition = comparison_of(literal, names, before)
                yield from before if condition is None else (*before, condition)
            case Test(arguments=arguments):
                plain_test = replace(literal, arguments=tuple(plain(term, names, before) for term in arguments))
                yield from (*before, Select(UNIT, plain_test, literal.span))
            case Truth(value):
                if not value:
                    yield Values((), (), ())
            case Disjunction():
                raise AssertionError(f"{literal.span}: only aggregates have disjunctions, and there one is chosen")
            case _:
                assert_never(literal)


def scan_of(atom: Atom, names: Names, before: list[Part]) -> Scan:
    """The scan for an atom; an argument that must be computed gets a name, and an equality that goes to `before`."""
    columns: list[str | Constant | None] = []
    for term, kind in zip(atom.arguments, names.schemas[atom.relation].kinds, strict=True):
        match plain(term, names, before):
            case Variable(name) if not name.startswith(OWN):
                columns.append(name)
            case Wildcard():
                columns.append(None)
            case Constant() as constant:
                columns.append(replace(constant, kind=kind))
            case computed:
                name = names.fresh(kind)
                before.append(equal(Variable(name, term.span), computed, kind))
                columns.append(name)
    return Scan(atom.relation, tuple(columns), span=atom.span)


def comparison_of(literal: Comparison, names: Names, before: list[Part]) -> Select | None:
    """The test for a comparison; None where it only names an aggregate or a range, which goes to `before`."""
    if literal.operator is ComparisonOperator.EQUAL:
        for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(side, Variable) and names.givers[side.name] == 1 and define(side.name, other, names, before):
                return None
    left, right = plain(literal.left, names, before), plain(literal.right, names, before)
    return Select(UNIT, replace(literal, left=left, right=right), literal.span)


def plain(term: Term, names: Names, before: list[Part]) -> Term:
    """`term` without casts, and with a name for each aggregate and range in it; they go to `before`."""
    match term:
        case Variable() | Wildcard() | Constant():
            return term
        case Cast(inner):
            return plain(inner, names, before)
        case Call() if term.function != "range":
            return replace(term, arguments=tuple(plain(argument, names, before) for argument in term.arguments))
        case Call(kind=kind) | Aggregate(kind=kind):
            name = names.fresh(known(kind, term), OWN)
            define(name, term, names, before)
            return Variable(name, term.span)
        case _:
            assert_never(term)


def define(name: str, term: Term, names: Names, before: list[Part]) -> bool:
    """Whether `term` is an aggregate or a range; then the part that calls its value `name` went to `before`."""
    match term:
        case Cast(inner):
            return define(name, inner, names, before)
        case Call("range", (start, end, *step), span=span, kind=kind):
            bounds = [plain(each, names, before) for each in (start, end, *step)]
            amount = bounds[2] if step else None
            before.append(Range(UNIT, name, bounds[0], bounds[1], amount, known(kind, term), span))
            return True
        case Aggregate(kind=kind):
            before.append(PendingAggregate(name, term, names.outer(term), known(kind, term)))
            return True
        case _:
            return False


def equal(left: Term, right: Term, kind: Kind) -> Select:
    """The test that two terms have the same value."""
    return Select(UNIT, Comparison(ComparisonOperator.EQUAL, left, right, right.span, kind), right.span)


def known(kind: Kind | None, term: Term) -> Kind:
    """`kind`, which the check has filled in."""
    assert kind is not None, f"{term.span}: the check should have given {term} its kind"
    return kind


def occurrences(rule: SimpleRule) -> Counter[str]:
    """How often each variable occurs in the rule, aggregates included."""
    return Counter(name for part in (rule.head, *rule.body) for name in variables_in(part))


def givers(rule: SimpleRule) -> Counter[str]:
    """For each variable, in how many places the rule could bind it: arguments of atoms and sides of equalities."""
    found: Counter[str] = Counter()
    for part in (place for literal in rule.body for place in everything_in(literal)):
        match part:
            case Atom(arguments=terms):
                found.update(term.name for term in terms if isinstance(term, Variable))
            case Comparison(ComparisonOperator.EQUAL, left, right):
                found.update(term.name for term in (left, right) if isinstance(term, Variable))
    return found


def variables_in(part: Literal | Term) -> Iterator[str]:
    """The variables of a literal or term of the text, one for each occurrence, aggregates included."""
    return (place.name for place in everything_in(part) if isinstance(place, Variable))


def everything_in(part: Literal | Term) -> Iterator[Literal | Term]:
    """`part` and every literal and term below it."""
    yield part
    below: tuple[Literal | Term, ...]
    match part:
        case Atom(arguments=terms) | Test(arguments=terms) | Call(arguments=terms):
            below = terms
        case Negation(Atom(arguments=terms)):
            below = terms
        case Comparison(left=left, right=right):
            below = (left, right)
        case Cast(inner):
            below = (inner,)
        case Aggregate(target=target, body=body):
            below = body if target is None else (target, *body)
        case Disjunction(branches):
            below = tuple(literal for branch in branches for literal in branch)
        case Variable() | Wildcard() | Constant() | Truth():
            below = ()
        case _:
            assert_never(part)
    for place in below:
        yield from everything_in(place)
