"""Takes rules that are watched and a node's address, returns them for the tuples that are stored at that node.

In the paper: the location constraints of section 5.2.2, entries of kind AddressS. A column declared with `@` says where
a tuple is stored. Everywhere else it is a column like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from sys import float_info

from tidelog.analysis.checked import CheckedProgram, SimpleRule
from tidelog.errors import UsageError
from tidelog.language.functions import RANGES
from tidelog.language.syntax_tree import Atom, Comparison, ComparisonOperator, Constant, Literal, Negation, Wildcard
from tidelog.schema import Kind, Value

PYTHON_TYPES: Mapping[Kind, type | tuple[type, ...]] = {
    Kind.NUMBER: int,
    Kind.UNSIGNED: int,
    Kind.FLOAT: (int, float),
    Kind.SYMBOL: str,
}

_WHOLE_FLOATS = (-int(float_info.max), int(float_info.max))
"""The least and the greatest whole number that a float can be."""


@dataclass(frozen=True, slots=True)
class Location:
    """The address of a node, and for each relation that has one the column that says where its tuples are."""

    address: Constant
    columns: Mapping[str, int]


def location_at(address: Value, checked: CheckedProgram) -> Location:
    """Where a node is whose rules are those of `checked`; UsageError where no tuple can be there."""
    columns, kind = location_columns(checked), location_kind(checked)
    if kind is None:
        raise UsageError(
            "no relation says where its tuples are stored\n"
            "  hint: mark a column with '@', such as .decl link(from: symbol, @to: symbol)"
        )
    for relation, column in columns.items():
        attribute = checked.schemas[relation].attributes[column]
        where = f"column '{attribute.name}' of {checked.schemas[relation]}"
        if attribute.kind is not kind:
            raise UsageError(f"addresses are of one kind, but {where} holds no {kind.value} as others do")
        if not _is_value(address, kind):
            raise UsageError(f"{where} says where tuples are: a location is of type {kind.value}, not {address!r}")
    value = float(address) if kind is Kind.FLOAT else address
    return Location(Constant(value, kind, kind=kind), columns)


def location_of_text(text: str, checked: CheckedProgram) -> Location:
    """Where a node is whose address is spelled `text`, without quotes."""
    kind = location_kind(checked)
    if kind is None or kind is Kind.SYMBOL:
        return location_at(text, checked)
    try:
        return location_at(float(text) if kind is Kind.FLOAT else int(text), checked)
    except ValueError:
        return location_at(text, checked)  # says what it should be


def location_columns(checked: CheckedProgram) -> dict[str, int]:
    """For each relation with a column marked `@`, which one that is."""
    return {
        relation.name: at
        for relation in checked.program.relations
        for at, attribute in enumerate(relation.attributes)
        if attribute.is_location
    }


def location_kind(checked: CheckedProgram) -> Kind | None:
    """What addresses of nodes are."""
    for relation, column in location_columns(checked).items():
        return checked.schemas[relation].kinds[column]
    return None


def at_location(rule: SimpleRule, here: Location) -> SimpleRule:
    """`rule` for the tuples that are stored `here`: a literal with a location column reads these only."""
    body: list[Literal] = []
    demands: list[Literal] = []
    for literal in rule.body:
        match literal:
            case Atom() if literal.relation in here.columns:
                body.append(_placed(literal, here, demands))
            case Negation(atom) if atom.relation in here.columns:
                body.append(replace(literal, atom=_placed(atom, here, demands)))
            case _:
                body.append(literal)
    return replace(rule, body=(*body, *demands))


def _placed(atom: Atom, here: Location, demands: list[Literal]) -> Atom:
    """`atom` with the address where it has `_`; what else it has there is added to the demands."""
    column = here.columns[atom.relation]
    term = atom.arguments[column]
    if isinstance(term, Wildcard):
        return replace(atom, arguments=(*atom.arguments[:column], here.address, *atom.arguments[column + 1 :]))
    demands.append(Comparison(ComparisonOperator.EQUAL, term, here.address, atom.span, here.address.kind))
    return atom


def _is_value(address: Value, kind: Kind) -> bool:
    if isinstance(address, bool) or not isinstance(address, PYTHON_TYPES[kind]):
        return False
    if not isinstance(address, int):
        return True
    least, greatest = RANGES.get(kind, _WHOLE_FLOATS)
    return least <= address <= greatest
