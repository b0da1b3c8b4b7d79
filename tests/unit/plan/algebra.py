"""The meaning of plan nodes: bags of rows over Python sets, one small case per node.

Shared by the tests of plans and of the round loop. A row is a dict from names to values; a bag is a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import assert_never

from tidelog.language import functions
from tidelog.language.syntax_tree import Call, Comparison, Constant, Term, Test, Variable
from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Node,
    Project,
    Range,
    Scan,
    Select,
    Union,
    Unit,
    Values,
    Version,
)
from tidelog.plan.walk import columns_of
from tidelog.schema import Row, Value

Bag = list[dict[str, Value]]
Tables = Mapping[tuple[str, Version], frozenset[Row]]


def versions(old: Mapping[str, set[Row]], delta: Mapping[str, set[Row]]) -> Tables:
    """The three versions of each relation, from its old and its new rows."""
    names = old.keys() | delta.keys()
    tables = {(name, Version.OLD): frozenset(old.get(name, ())) for name in names}
    tables |= {(name, Version.DELTA): frozenset(delta.get(name, ())) for name in names}
    return tables | {(name, Version.FULL): frozenset(old.get(name, set()) | delta.get(name, set())) for name in names}


def rows_of(project: Node, tables: Tables) -> Counter[Row]:
    """The bag of rows that a rule's plan gives."""
    assert isinstance(project, Project)
    bag = evaluate(project.input, tables)
    return Counter(tuple(value_of(term, row) for term in project.columns) for row in bag)


def evaluate(node: Node, tables: Tables) -> Bag:
    """The rows of `node`, each as often as the algebra says."""
    match node:
        case Scan(relation, columns, version):
            found = (match_row(columns, row) for row in tables.get((relation, version), frozenset()))
            return [row for row in found if row is not None]
        case Unit():
            return [{}]
        case Values(columns, _, rows):
            return [dict(zip(columns, row, strict=True)) for row in rows]
        case Join(left, right):
            others = evaluate(right, tables)
            return [{**row, **other} for row in evaluate(left, tables) for other in others if agree(row, other)]
        case Antijoin(left, right):
            others = evaluate(right, tables)
            assert set(columns_of(right)) <= set(columns_of(left)), "a negated scan binds nothing"
            return [row for row in evaluate(left, tables) if not any(agree(row, other) for other in others)]
        case Select(source, condition):
            return [row for row in evaluate(source, tables) if holds(condition, row)]
        case Extend(source, name, value):
            assert name not in columns_of(source), f"{name} is there already"
            return [{**row, name: value_of(value, row)} for row in evaluate(source, tables)]
        case Range(source, name, start, end, step, kind):
            assert name not in columns_of(source), f"{name} is there already"
            bounds = [start, end] if step is None else [start, end, step]
            return [
                {**row, name: each}
                for row in evaluate(source, tables)
                for each in functions.range_values(kind, *(value_of(bound, row) for bound in bounds))
            ]
        case GroupJoin():
            return grouped(node, tables)
        case Distinct(source, columns):
            return different(columns, evaluate(source, tables))
        case Union(inputs, columns):
            return different(columns, [row for each in inputs for row in evaluate(each, tables)])
        case Project():
            raise AssertionError("a Project stands only on top")
        case _:
            assert_never(node)


def different(columns: tuple[str, ...], bag: Bag) -> Bag:
    """The rows of `bag` over `columns`, each once."""
    found = dict.fromkeys(tuple(row[name] for name in columns) for row in bag)
    return [dict(zip(columns, row, strict=True)) for row in found]


def grouped(node: GroupJoin, tables: Tables) -> Bag:
    """The rows of the left side, each with the value of its group."""
    assert node.name not in columns_of(node.left), f"{node.name} is there already"
    groups: dict[Row, list[Value]] = {}
    for row in evaluate(node.right, tables):
        value = 0 if node.value is None else value_of(node.value, row)
        groups.setdefault(tuple(row[key] for key in node.keys), []).append(value)
    answer = []
    for row in evaluate(node.left, tables):
        values = groups.get(tuple(row[key] for key in node.keys), [])
        result = functions.aggregate(node.function, node.kind, values)
        if result is not None:
            answer.append({**row, node.name: result})
    return answer


def match_row(columns: tuple[str | Constant | None, ...], row: Row) -> dict[str, Value] | None:
    """The names that the columns of a scan bind for a stored row, None where it does not match."""
    found: dict[str, Value] = {}
    for column, value in zip(columns, row, strict=True):
        if isinstance(column, Constant) and column.value != value:
            return None
        if isinstance(column, str) and found.setdefault(column, value) != value:
            return None
    return found


def agree(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    """Whether two rows have the same values under the names they share."""
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def holds(condition: Comparison | Test, row: Mapping[str, Value]) -> bool:
    """Whether a condition holds for a row."""
    match condition:
        case Comparison(operator, left, right):
            return functions.compare(operator, value_of(left, row), value_of(right, row))
        case Test(function, arguments, negated):
            return functions.holds(function, tuple(value_of(term, row) for term in arguments)) != negated


def value_of(term: Term, row: Mapping[str, Value]) -> Value:
    """The value of a term for a row."""
    match term:
        case Variable(name):
            return row[name]
        case Constant(value):
            return value
        case Call("ord", (argument,)):
            return int.from_bytes(str(value_of(argument, row)).encode())
        case Call(function, arguments, kind=kind, operands=operands):
            assert kind is not None
            return functions.apply(function, operands, kind, tuple(value_of(each, row) for each in arguments))
        case _:
            raise AssertionError(f"{term} has no place in a plan")
