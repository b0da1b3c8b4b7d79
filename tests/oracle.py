"""The judge: what a program means, by naive evaluation over Python sets.

`docs/explanation/meaning.md` says it in words, this file says it in code, and every engine must give the same rows.
It reads the program as it was written (several heads, disjunctions, nested aggregates; an inline relation is a relation
like any other) and shares with the engines only the parser, the check and the scalar functions. It does not know
`.plan` and `.limitsize`: neither may change what is true.

Read it from `evaluate`, which fires all rules of a level until nothing is new, to `solutions`, which is the heart:
every assignment that makes a list of literals hold. Before that, `plain_form.alternatives` removes what is only a way
of writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import TypeVar

from plain_form import Body, all_nodes, alternatives, names, own_nodes
from tidelog.analysis.checked import CheckedProgram
from tidelog.errors import EvaluationError
from tidelog.language import functions
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Test,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.schema import Kind, Row, Schema, Value
from tidelog.span import Span

Binding = Mapping[str, Value]
Result = TypeVar("Result")


def evaluate(checked: CheckedProgram, facts: Mapping[str, Iterable[Row]], patience: float = inf) -> dict[str, set[Row]]:
    """The rows of every relation. Raises EvaluationError when an expression that matters has no value.

    And TooMuchWork when more than `patience` assignments were tried.
    """
    world = World({declaration.name: set() for declaration in checked.program.relations}, patience=patience)
    for relation, rows in facts.items():
        world.add(relation, (stored(row, checked.schemas[relation]) for row in rows))
    levels = levels_of(checked.program)
    rules = [(head, rule) for rule in checked.program.rules for head in rule.heads]
    equivalences = [one.name for one in checked.program.relations if "eqrel" in one.qualifiers]
    for level in sorted(set(levels.values())):
        firing = [(head, rule) for head, rule in rules if levels[head.relation] == level]
        growing = True
        while growing:
            growing = False
            for head, rule in firing:
                growing |= world.add(head.relation, consequences(head, rule, world))
            for relation in equivalences:
                if levels[relation] == level:
                    growing |= world.add(relation, least_equivalence(world.rows[relation]))
    return world.rows


def least_equivalence(pairs: Iterable[Row]) -> Iterator[Row]:
    """The pairs of the least equivalence relation that has `pairs`: all pairs of values that belong together."""
    classes: list[set[Value]] = []
    for pair in pairs:
        met = [members for members in classes if not members.isdisjoint(pair)]
        classes = [members for members in classes if members not in met]
        classes.append(set(pair).union(*met))
    return (pair for members in classes for pair in product(members, repeat=2))


def stored(row: Row, schema: Schema) -> Row:
    """`row` as the relation holds it: floats are floats and there is no negative zero."""
    return tuple(
        float(value) + 0.0 if kind is Kind.FLOAT else value for value, kind in zip(row, schema.kinds, strict=True)
    )


@dataclass
class World:
    """The rows known so far, the numbers that `ord` has given out, and how many assignments may still be tried."""

    rows: dict[str, set[Row]]
    indexes: dict[str, dict[tuple[int, ...], dict[Row, list[Row]]]] = field(default_factory=dict)
    ordinals: dict[Value, int] = field(default_factory=dict)
    patience: float = inf

    def add(self, relation: str, rows: Iterable[Row]) -> bool:
        """Whether one of `rows` is new; from now on all of them are known."""
        new = set(rows) - self.rows[relation]
        self.rows[relation] |= new
        for positions, index in self.indexes.get(relation, {}).items():
            file_rows(index, positions, new)
        return bool(new)

    def find(self, relation: str, known: Mapping[int, Value]) -> list[Row]:
        """The rows of `relation` with the `known` values at their positions."""
        positions = tuple(known)
        indexes = self.indexes.setdefault(relation, {})
        if positions not in indexes:
            indexes[positions] = file_rows({}, positions, self.rows[relation])
        return indexes[positions].get(tuple(known.values()), [])


def file_rows(index: dict[Row, list[Row]], positions: tuple[int, ...], rows: set[Row]) -> dict[Row, list[Row]]:
    """`index` with `rows` added under their values at `positions`."""
    for row in rows:
        index.setdefault(tuple(row[position] for position in positions), []).append(row)
    return index


def levels_of(program: Program) -> dict[str, int]:
    """A level for each relation: above all that it negates or aggregates, not below any that it reads."""
    levels = {declaration.name: 0 for declaration in program.relations}
    lowest = {
        (head.relation, name, step) for rule in program.rules for head in rule.heads for name, step in reads(rule)
    }
    while raised := [(head, levels[name] + step) for head, name, step in lowest if levels[head] < levels[name] + step]:
        for head, level in raised:
            levels[head] = max(level, levels[head])
            assert level <= len(levels), f"{head} depends on its own negation"
    return levels


def reads(rule: Rule) -> Iterator[tuple[str, int]]:
    """Each relation that the rule reads, with 1 where it is negated or aggregated and 0 elsewhere."""
    for node in own_nodes((*rule.body, *(term for head in rule.heads for term in head.arguments))):
        match node:
            case Atom(relation):
                yield relation, 0
            case Negation(Atom(relation)):
                yield relation, 1
            case Aggregate():
                for inner in all_nodes([node]):
                    match inner:
                        case Atom(relation) | Negation(Atom(relation)):
                            yield relation, 1


def consequences(head: Atom, rule: Rule, world: World) -> Iterator[Row]:
    """The rows of `head` that the rule gives for what is known so far."""
    scope = names(own_nodes((*rule.heads, *rule.body)))
    try:
        for terms, body in alternatives(head.arguments, rule.body):
            for binding in solutions(body, {}, scope, world):
                yield tuple(value_of(term, binding, world) for term in terms)
    except Undefined as cause:
        raise EvaluationError(cause.message, cause.span) from cause


class TooMuchWork(Exception):
    """More assignments than there was patience for."""


class Undefined(Exception):
    """An expression has no value."""

    def __init__(self, message: str, span: Span) -> None:
        self.message, self.span = message, span


def solutions(
    body: Body, binding: Binding, scope: frozenset[str], world: World, pending: Undefined | None = None
) -> Iterator[Binding]:
    """Every assignment that continues `binding` and makes all literals of `body` hold.

    Raises Undefined when a literal has no value and none of the others is false. `pending` is the first that had none;
    literals that wait for a variable only it would have bound are left out. Since every other literal still has its
    say, the order of the literals does not matter.
    """
    chosen = next((literal for literal in body if decidable(literal, binding, scope)), None)
    if chosen is None:
        if pending is not None:
            raise pending
        assert not body, f"nothing binds the variables of {body}: the check should have refused the rule"
        yield binding
        return
    rest = tuple(literal for literal in body if literal is not chosen)
    try:
        answers = extensions(chosen, binding, scope, world)
    except Undefined as cause:
        yield from solutions(rest, binding, scope, world, pending or cause)
        return
    for extended in answers:
        world.patience -= 1
        if world.patience < 0:
            raise TooMuchWork
        yield from solutions(rest, extended, scope, world, pending)


def decidable(literal: Literal, binding: Binding, scope: frozenset[str]) -> bool:
    """Whether `binding` has all that the literal needs to be true, false or without a value."""
    match literal:
        case Atom() | Truth():
            return True
        case Comparison(ComparisonOperator.EQUAL, left, right):
            return (isinstance(left, Variable) or bound(left, binding, scope)) and (
                bound(right, binding, scope) or (isinstance(right, Variable) and bound(left, binding, scope))
            )
        case _:
            return bound(literal, binding, scope)


def bound(node: Literal | Term, binding: Binding, scope: frozenset[str]) -> bool:
    """Whether every variable of `node` has a value; those local to an aggregate need none."""
    inside = names(all_nodes([node])) & scope
    return inside | names(own_nodes([node])) <= binding.keys()


def extensions(literal: Literal, binding: Binding, scope: frozenset[str], world: World) -> list[Binding]:
    """The ways in which a decidable literal holds, each as `binding` with the variables that the literal binds."""
    match literal:
        case Atom(relation, arguments):
            columns = [argument.name for argument in arguments if isinstance(argument, Variable)]
            known = {position: binding[name] for position, name in enumerate(columns) if name in binding}
            return [
                {**binding, **dict(zip(columns, row, strict=True))}
                for row in world.find(relation, known)
                if all(row[columns.index(name)] == value for name, value in zip(columns, row, strict=True))
            ]
        case Comparison(ComparisonOperator.EQUAL, Variable(name), right) if name not in binding:
            return [{**binding, name: value} for value in values_of(right, binding, scope, world)]
        case Comparison(ComparisonOperator.EQUAL, left, Variable(name)) if name not in binding:
            return [{**binding, name: value} for value in values_of(left, binding, scope, world)]
        case _:
            return [binding] if holds(literal, binding, scope, world) else []


def holds(literal: Literal, binding: Binding, scope: frozenset[str], world: World) -> bool:
    """Whether a literal, all of whose variables are bound, is true."""
    match literal:
        case Truth(value):
            return value
        case Negation(Atom(relation, arguments)):
            known = {
                position: value_of(argument, binding, world)
                for position, argument in enumerate(arguments)
                if not isinstance(argument, Wildcard)
            }
            return not world.find(relation, known)
        case Comparison(operator, left, right):
            return any(
                functions.compare(operator, one, other)
                for one in values_of(left, binding, scope, world)
                for other in values_of(right, binding, scope, world)
            )
        case Test(function, arguments, negated):
            values = tuple(value_of(argument, binding, world) for argument in arguments)
            return defined(literal.span, lambda: functions.holds(function, values)) is not negated
        case _:
            raise AssertionError(f"{literal} is no test")


def values_of(term: Term, binding: Binding, scope: frozenset[str], world: World) -> list[Value]:
    """All values of a term: a range has many, an aggregate one or none, everything else one."""
    match term:
        case Call("range", arguments, span=span, kind=Kind() as kind_of_range):
            operands = [value_of(argument, binding, world) for argument in arguments]
            return defined(span, lambda: list(functions.range_values(kind_of_range, *operands)))
        case Aggregate(function, span=span, kind=kind):
            values = list(aggregated(term, binding, scope, world).values())
            if function is AggregateFunction.MEAN and not any(isinstance(value, float) for value in values):
                kind = Kind.NUMBER  # a mean is a float, but that of integers is taken from their exact sum
            result = defined(span, lambda: functions.aggregate(function, kind, values))
            return [] if result is None else [result]
        case _:
            return [value_of(term, binding, world)]


def aggregated(
    aggregate: Aggregate, binding: Binding, scope: frozenset[str], world: World
) -> dict[frozenset[tuple[str, Value]], Value]:
    """The value of the target for each assignment that makes the body of the aggregate hold (0 without a target)."""
    outer = {name: binding[name] for name in names(all_nodes([aggregate])) & scope}
    targets = () if aggregate.target is None else (aggregate.target,)
    inner_scope = scope | names(own_nodes((*targets, *aggregate.body)))
    found = {}
    for terms, body in alternatives(targets, aggregate.body):
        for solution in solutions(body, outer, inner_scope, world):
            assignment = frozenset(item for item in solution.items() if not item[0].startswith("="))
            found[assignment] = value_of(terms[0], solution, world) if terms else 0
    return found


def value_of(term: Term, binding: Binding, world: World) -> Value:
    """The value of a term whose variables are bound. Raises Undefined when it has none."""
    match term:
        case Variable(name):
            return binding[name]
        case Constant(value):
            return value
        case Cast(inner):
            return value_of(inner, binding, world)
        case Call("ord", (argument,)):
            return world.ordinals.setdefault(value_of(argument, binding, world), len(world.ordinals))
        case Call(function, arguments, span=span, kind=kind, operands=operands):
            assert kind is not None
            values = tuple(value_of(argument, binding, world) for argument in arguments)
            return defined(span, lambda: functions.apply(function, operands, kind, values))
        case _:
            raise AssertionError(f"{term} should have been set aside by `alternatives`")


def defined(span: Span, compute: Callable[[], Result]) -> Result:
    """What `compute` gives; NoValue becomes Undefined at `span`."""
    try:
        return compute()
    except functions.NoValue as cause:
        raise Undefined(str(cause), span) from cause
