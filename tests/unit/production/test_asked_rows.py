"""Heads of a rule that fires for all its instances are columns of one row, whatever terms they have."""

import pytest

import tidelog
from answers import checked_program
from tidelog.production.asked_rows import asked_rows


def ended(semantics: str, text: str) -> tidelog.Session:
    db = tidelog.open(f".production {semantics}\n{text}")
    db.run()
    return db


def test_a_term_that_several_heads_have_is_one_column() -> None:
    checked = checked_program(
        ".production set .decl p(x: number, y: number) .decl q(x: number) "
        "+q(x + 1), -p(x, y), +p(x + 1, x), +q(x) :- p(x, y)."
    )
    asked = asked_rows(checked.productions[0], 0, checked.schemas)
    assert asked.schema.arity == 3
    assert [(head.relation, head.sign.name) for head in asked.heads] == [
        ("q", "INSERT"),
        ("p", "DELETE"),
        ("p", "INSERT"),
    ]
    assert [len(head.columns) for head in asked.heads] == [2, 1, 1]


@pytest.mark.parametrize("semantics", ["set", "instance", "parallel"])
def test_heads_without_columns_with_constants_and_with_one_variable_twice(semantics: str) -> None:
    db = ended(
        semantics,
        ".decl p(x: number) .decl done() .decl q(x: number, y: number, s: symbol) p(1). p(2). "
        '+done(), +q(x, x, "a"), +q(7, x * 2, "b"), -p(x) :- p(x).',
    )
    assert list(db["done"]) == [()]
    assert sorted(db["q"]) == [(1, 1, "a"), (2, 2, "a"), (7, 2, "b"), (7, 4, "b")]
    assert list(db["p"]) == []


def test_a_constant_that_stands_for_values_of_two_kinds_is_two_columns() -> None:
    db = ended("set", ".decl p(x: number) .decl q(x: float) .decl r(n: number) p(0). +q(1), +r(1) :- p(0).")
    assert [type(row[0]) for relation in ("q", "r") for row in db[relation]] == [float, int]
