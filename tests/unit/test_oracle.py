"""The oracle against answers worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from oracle import evaluate
from tidelog.analysis.check import check
from tidelog.errors import EvaluationError
from tidelog.language.parser import parse
from tidelog.schema import Row

EDGE_AND_NUMBER = """
.decl edge(x: number, y: number)
.decl n(x: number)
"""


def rows(relation: str, text: str, **facts: Iterable[Row]) -> list[Row]:
    """The oracle's rows of one relation of the program, sorted."""
    return sorted(evaluate(check(parse(EDGE_AND_NUMBER + text)), facts)[relation])


def error(text: str, **facts: Iterable[Row]) -> EvaluationError:
    """The error that ends the evaluation of the program."""
    with pytest.raises(EvaluationError) as caught:
        evaluate(check(parse(EDGE_AND_NUMBER + text)), facts)
    return caught.value


def test_recursion_reaches_everything() -> None:
    text = """
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), path(y, z).
    """
    assert rows("path", text, edge=[(1, 2), (2, 3), (3, 1)]) == [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)]


def test_a_few_thousand_rows_are_no_trouble() -> None:
    text = """
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    """
    assert len(rows("path", text, edge=[(x, x + 1) for x in range(70)])) == 70 * 71 // 2


def test_negation_waits_for_the_relation_to_be_complete() -> None:
    text = """
    .decl sink(x: number)
    .decl node(x: number)
    sink(x) :- node(x), !edge(x, _).
    node(x) :- edge(x, _).
    node(y) :- edge(_, y).
    """
    assert rows("sink", text, edge=[(1, 2), (2, 3)]) == [(3,)]


def test_a_variable_twice_in_an_atom_asks_for_equal_columns() -> None:
    assert rows("r", ".decl r(x: number) r(x) :- edge(x, x).", edge=[(1, 1), (1, 2)]) == [(1,)]


def test_an_expression_in_an_atom_is_an_equation() -> None:
    text = ".decl r(x: number) r(x) :- edge(x, x + 1)."
    assert rows("r", text, edge=[(1, 2), (2, 2), (5, 6)]) == [(1,), (5,)]


def test_negative_zero_becomes_zero() -> None:
    text = ".decl f(x: float) .decl s(x: symbol) s(to_string(x)) :- f(x)."
    assert rows("s", text, f=[(-0.0,), (0.0,)]) == [("0.0",)]


def test_a_range_can_bind_and_can_test() -> None:
    text = """
    .decl all(x: number)
    .decl some(x: number)
    all(x) :- x = range(0, 3).
    some(x) :- n(x), range(0, 3) = x.
    """
    assert rows("all", text) == [(0,), (1,), (2,)]
    assert rows("some", text, n=[(2,), (3,)]) == [(2,)]


def test_an_equation_binds_from_either_side() -> None:
    assert rows("r", ".decl r(x: number) r(y) :- x + 1 = y, n(x).", n=[(4,)]) == [(5,)]


def test_heads_in_different_strata_each_get_their_rows() -> None:
    text = """
    .decl p(x: number)
    .decl q(x: number)
    .decl r(x: number)
    p(x), r(x) :- n(x), x > 1.
    q(x) :- n(x), !p(x).
    r(x + 10) :- q(x).
    """
    assert rows("r", text, n=[(1,), (2,)]) == [(2,), (11,)]


class TestAggregates:
    def test_each_wildcard_is_a_variable_of_its_own(self) -> None:
        text = ".decl r(x: number) r(c) :- c = count : { edge(x, _), n(x) }."
        assert rows("r", text, edge=[(1, 1), (1, 2), (2, 1)], n=[(1,)]) == [(2,)]

    def test_a_wildcard_of_a_negation_is_not_counted(self) -> None:
        text = ".decl r(x: number) r(c) :- c = count : { n(x), !edge(x, _) }."
        assert rows("r", text, edge=[(1, 1), (1, 2)], n=[(1,), (2,), (3,)]) == [(2,)]

    def test_an_assignment_that_two_alternatives_allow_counts_once(self) -> None:
        text = ".decl r(x: number) r(c) :- c = count : { n(x), (x > 1 ; x < 3) }."
        assert rows("r", text, n=[(1,), (2,), (3,)]) == [(3,)]

    def test_an_outer_variable_is_the_same_inside(self) -> None:
        text = ".decl r(x: number, s: number) r(x, s) :- n(x), s = sum y : { edge(x, y) }."
        assert rows("r", text, edge=[(1, 5), (1, 6), (2, 7)], n=[(1,), (3,)]) == [(1, 11), (3, 0)]

    def test_a_head_variable_is_an_outer_one_too(self) -> None:
        text = ".decl r(x: number) r(y) :- y = max x : { edge(x, _) }, n(y)."
        assert rows("r", text, edge=[(1, 5), (2, 6)], n=[(1,), (2,)]) == [(2,)]

    def test_an_inner_aggregate_sees_the_variables_around_it(self) -> None:
        text = """
        .decl r(x: number, m: number)
        r(x, m) :- n(x), m = max c : { edge(x, y), c = count : { edge(y, z), z > x } }.
        """
        facts = [(1, 2), (1, 3), (2, 1), (2, 5), (3, 2), (3, 3), (3, 1)]
        assert rows("r", text, edge=facts, n=[(1,), (2,)]) == [(1, 2), (2, 1)]

    def test_least_of_nothing_makes_the_literal_false(self) -> None:
        assert rows("r", ".decl r(x: number) r(x) :- n(x), x > min y : { edge(x, y) }.", n=[(1,)]) == []

    def test_mean_of_integers_is_exact_before_the_division(self) -> None:
        text = ".decl r(x: float) r(m) :- m = mean x : { n(x) }."
        assert rows("r", text, n=[(2**62,), (2**62 + 2,)]) == [(float(2**62 + 1),)]

    def test_a_sum_that_overflows_is_an_error(self) -> None:
        text = ".decl r(x: number) r(s) :- s = sum x : { n(x) }."
        assert "outside the range" in error(text, n=[(2**62,), (2**62 + 1,)]).message

    def test_an_aggregate_without_a_value_is_an_error_only_where_it_matters(self) -> None:
        text = ".decl r(x: number) r(x) :- edge(x, _), s = sum 6 / y : { edge(x, y) }, s > 0, x != 2."
        assert rows("r", text, edge=[(1, 3), (2, 0)]) == [(1,)]
        assert error(text, edge=[(1, 0)]).message == "division by zero"


class TestErrors:
    def test_the_place_is_the_expression(self) -> None:
        caught = error(".decl r(x: number)\nr(1 + 6 / x) :- n(x).", n=[(0,)])
        assert (caught.span.line, caught.span.column) == (5, 7)

    @pytest.mark.parametrize("body", ["n(x), y = 6 / x, x > 0", "x > 0, y = 6 / x, n(x)", "y = 6 / x, n(x), x > 0"])
    def test_a_false_literal_anywhere_prevents_the_error(self, body: str) -> None:
        assert rows("r", f".decl r(x: number) r(y) :- {body}.", n=[(0,), (2,)]) == [(3,)]

    def test_literals_that_wait_for_the_missing_value_have_no_say(self) -> None:
        text = ".decl r(x: number) r(x) :- n(x), y = 6 / x, y > 100, !edge(y, y)."
        assert error(text, n=[(0,)]).message == "division by zero"

    def test_an_atom_with_the_missing_value_still_has_a_say(self) -> None:
        text = ".decl r(x: number) r(x) :- n(x), y = 6 / x, edge(y, _)."
        assert rows("r", text, n=[(0,)]) == []
        assert error(text, n=[(0,)], edge=[(1, 1)]).message == "division by zero"

    def test_a_second_way_to_bind_the_missing_value_is_taken(self) -> None:
        text = ".decl r(x: number) r(x) :- n(x), y = 6 / x, y = x + 1, y > 1."
        assert rows("r", text, n=[(0,)]) == []

    def test_an_error_in_one_alternative_is_an_error(self) -> None:
        assert error(".decl r(x: number) r(x) :- n(x), (x = 0 ; 6 / x > 1).", n=[(0,)]).message == "division by zero"

    def test_a_head_without_a_value_is_an_error_when_the_body_holds(self) -> None:
        assert error(".decl r(x: number) r(6 / x) :- n(x).", n=[(0,)]).message == "division by zero"

    def test_the_least_of_nothing_is_false_beside_an_expression_without_a_value(self) -> None:
        text = ".decl r(x: number) r(x) :- n(x), 6 / x > min y : { edge(x, y) }."
        assert rows("r", text, n=[(0,)]) == []


def test_an_equivalence_relation_has_all_pairs_of_each_class() -> None:
    text = """
    .decl same(x: number, y: number) eqrel
    same(x, y) :- edge(x, y).
    .decl alone(x: number)
    alone(x) :- n(x), !same(x, x).
    """
    facts = {"edge": [(1, 2), (3, 4), (2, 4), (7, 7)], "n": [(1,), (5,)]}
    together = [(x, y) for x in (1, 2, 3, 4) for y in (1, 2, 3, 4)]
    assert rows("same", text, **facts) == [*together, (7, 7)]
    assert rows("alone", text, **facts) == [(5,)]


def test_an_equivalence_relation_feeds_the_rules_that_feed_it() -> None:
    text = """
    .decl same(x: number, y: number) eqrel
    same(1, 2).
    same(a, b) :- same(x, y), edge(x, a), edge(y, b).
    """
    found = rows("same", text, edge=[(1, 3), (2, 4), (3, 5), (4, 6), (8, 9)])
    assert found == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (3, 4), (4, 3), (4, 4), (5, 5), (5, 6), (6, 5), (6, 6)]
