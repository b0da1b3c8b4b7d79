"""Takes a question and the rows of its relation, returns the assignments of its variables that make it a fact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.analysis.checked import CheckedProgram
from tidelog.errors import UsageError
from tidelog.facts.columns import column_of
from tidelog.language.parser import parse_query
from tidelog.language.printer import print_constant
from tidelog.language.syntax_tree import Atom, Constant, Term, Variable, Wildcard
from tidelog.language.words import nearest
from tidelog.schema import Attribute, Kind, Schema, Value

LOWEST = {Kind.NUMBER: -(2**63), Kind.UNSIGNED: 0}
HIGHEST = {Kind.NUMBER: 2**63 - 1, Kind.UNSIGNED: 2**64 - 1}


def parse_question(text: str, checked: CheckedProgram) -> tuple[Atom, Schema]:
    """The atom in `text` and its variables as columns; UsageError when the program cannot be asked that."""
    atom = parse_query(text)
    return atom, answer_schema(atom, schema_of(atom.relation, checked))


def with_kinds(atom: Atom, schema: Schema) -> Atom:
    """`atom` with each constant as a value of its column."""
    arguments = tuple(
        Constant(constant_value(term, attribute), attribute.kind, term.span, attribute.kind)
        if isinstance(term, Constant)
        else term
        for term, attribute in zip(atom.arguments, schema.attributes, strict=True)
    )
    return replace(atom, arguments=arguments)


def schema_of(relation: str, checked: CheckedProgram) -> Schema:
    """The schema of `relation`, or an error that names the nearest relation there is."""
    if relation in checked.inlined:
        raise UsageError(f"'{relation}' is inline and has no rows of its own: remove the qualifier to store it")
    if relation in checked.schemas:
        return checked.schemas[relation]
    near = nearest(str(relation), checked.schemas)
    hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(checked.schemas) or 'none'}"
    raise UsageError(f"no relation '{relation}'; {hint}")


def answer_schema(atom: Atom, schema: Schema) -> Schema:
    """The variables of `atom` as columns, in order of first use; UsageError when it cannot be asked of the relation."""
    if len(atom.arguments) != schema.arity:
        raise UsageError(f"{schema} has {schema.arity} columns, the query gives {len(atom.arguments)}")
    columns: dict[str, Attribute] = {}
    for argument, attribute in zip(atom.arguments, schema.attributes, strict=True):
        if isinstance(argument, Constant):
            constant_value(argument, attribute)
        if not isinstance(argument, Variable):
            continue
        first = columns.setdefault(argument.name, Attribute(argument.name, attribute.type, attribute.kind))
        if first.kind is not attribute.kind:
            raise UsageError(
                f"variable '{argument.name}' stands for a {first.kind.value} and for a {attribute.kind.value}"
                f" (column '{attribute.name}' of {schema}): use two variables"
            )
    return Schema(schema.relation, tuple(columns.values()))


def answers(atom: Atom, schema: Schema, rows: pa.Table) -> pa.Table:
    """Each assignment of the variables of `atom` for which it is among `rows`, once."""
    columns: dict[str, int] = {}
    wanted: pa.ChunkedArray[Any] | pa.Scalar[Any]
    for position, (argument, attribute) in enumerate(zip(atom.arguments, schema.attributes, strict=True)):
        match argument:
            case Wildcard():
                continue
            case Variable(name) if name not in columns:
                columns[name] = position
                continue
            case Variable(name):
                wanted = rows.column(columns[name])
            case _:
                wanted = column_of(attribute.kind, [constant_value(argument, attribute)])[0]
        rows = rows.filter(pc.equal(rows.column(position), wanted))
    named = rows.select(list(columns.values())).rename_columns(list(columns))
    if not columns:
        return named.slice(0, min(1, rows.num_rows))  # without columns, Arrow does not know where rows end
    if any(isinstance(argument, Wildcard) for argument in atom.arguments):
        return named.group_by(list(columns), use_threads=False).aggregate([])
    return named


def constant_value(term: Term, attribute: Attribute) -> Value:
    """The value `term` stands for in the column `attribute`."""
    if not isinstance(term, Constant):
        raise UsageError("a query takes variables, constants and '_'; put other expressions into a rule")
    value, spelled, kind = term.value, term.spelled, attribute.kind
    if spelled is None and kind is Kind.FLOAT:
        return float(value)
    if spelled is not kind and (spelled is not None or kind not in LOWEST):
        raise UsageError(f"column '{attribute.name}' holds a {kind.value}, the query gives {print_constant(term)}")
    if kind in LOWEST and not LOWEST[kind] <= int(value) <= HIGHEST[kind]:
        raise UsageError(f"{value} is no {kind.value} (column '{attribute.name}')")
    return value
