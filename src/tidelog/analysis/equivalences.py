"""Equivalence relations. Takes declarations with the qualifier `eqrel`, returns the rules that they stand for.

A relation that is symmetric and transitive has `r(x, x)` and `r(y, y)` wherever it has `r(x, y)`, so that two rules
are enough. The closures find these rules like any others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidelog.analysis.checked import SimpleRule
from tidelog.analysis.types import TypeTable
from tidelog.errors import Diagnostic, Note
from tidelog.language.printer import print_rule
from tidelog.language.syntax_tree import Atom, RelationDeclaration, Rule, Variable
from tidelog.schema import Kind, Schema

EQREL = "eqrel"
FIRST_ID = -2
"""The rules of equivalence relations count down from here: no rule of a program has a number below 1, and -1 is for the
rules that take over given facts."""


def check_equivalence(relation: RelationDeclaration, types: TypeTable) -> Iterator[Diagnostic]:
    """Diagnostics for an equivalence relation that does not have two attributes of one type, or is inline."""
    if EQREL not in relation.qualifiers:
        return
    if "inline" in relation.qualifiers:
        yield Diagnostic(
            "D224",
            f"the equivalence relation '{relation.name}' cannot be inline: it is recursive and must be stored",
            relation.span,
            "remove the qualifier 'inline'",
        )
    if len(relation.attributes) != 2:
        count = len(relation.attributes)
        yield Diagnostic(
            "D222",
            f"the equivalence relation '{relation.name}' has {count} attribute{'' if count == 1 else 's'} instead of 2",
            relation.span,
            f"write '.decl {relation.name}(x: number, y: number) eqrel', or remove the qualifier 'eqrel'",
        )
        return
    first, second = relation.attributes
    if {first.type, second.type} <= types.kinds.keys() and not _is_one_type(first.type, second.type, types):
        yield Diagnostic(
            "D223",
            f"the attributes of the equivalence relation '{relation.name}' are of different types: "
            f"'{first.type}' and '{second.type}'",
            second.span,
            f"give both one type, such as '{second.name}: {first.type}', or remove the qualifier 'eqrel'",
            notes=(Note("the other one is here", first.span),),
        )


def _is_one_type(one: str, other: str, types: TypeTable) -> bool:
    """Whether the names stand for the same type; an alias is the type it names."""
    return types.accepts(one, other) and types.accepts(other, one)


def equivalence_rules(
    declarations: Iterable[RelationDeclaration], schemas: Mapping[str, Schema]
) -> Iterator[SimpleRule]:
    """The rules of symmetry and of transitivity of each sound equivalence relation, in the order of declaration."""
    found = [one for one in declarations if EQREL in one.qualifiers and one.name in schemas]
    for number, relation in enumerate(found):
        (kind, _) = schemas[relation.name].kinds
        yield _symmetry(relation, kind, FIRST_ID - 2 * number)
        yield _transitivity(relation, kind, FIRST_ID - 2 * number - 1)


def _symmetry(relation: RelationDeclaration, kind: Kind, number: int) -> SimpleRule:
    x, y = Variable("x", relation.span), Variable("y", relation.span)
    return _rule(relation, number, (y, x), ((x, y),), kind)


def _transitivity(relation: RelationDeclaration, kind: Kind, number: int) -> SimpleRule:
    x, y, z = (Variable(name, relation.span) for name in "xyz")
    return _rule(relation, number, (x, z), ((x, y), (y, z)), kind)


def _rule(
    relation: RelationDeclaration,
    number: int,
    head: tuple[Variable, Variable],
    body: tuple[tuple[Variable, Variable], ...],
    kind: Kind,
) -> SimpleRule:
    """The rule at the place of the declaration; each atom of its body at that of an attribute, to tell them apart."""
    places = [attribute.span for attribute in relation.attributes]
    rule = Rule(
        (Atom(relation.name, head, relation.span),),
        tuple(Atom(relation.name, columns, place) for columns, place in zip(body, places, strict=False)),
        span=relation.span,
        id=number,
    )
    kinds = {variable.name: kind for columns in body for variable in columns}
    return SimpleRule(number, rule.heads[0], rule.body, kinds, rule.span, f"eqrel {relation.name}: {print_rule(rule)}")
