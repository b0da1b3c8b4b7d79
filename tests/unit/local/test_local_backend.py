"""The local backend runs plans node by node, round by round."""

from __future__ import annotations

from time import sleep

import pyarrow as pa
import pytest

from tidelog.backends.local import matches as matches_file
from tidelog.backends.local import steps
from tidelog.backends.local import team as team_file
from tidelog.errors import EvaluationError
from tidelog.facts import relation as relation_file
from tidelog.facts.membership import PairSet
from tidelog.language.syntax_tree import AggregateFunction, Comparison, ComparisonOperator, Constant, Variable
from tidelog.language.syntax_tree import Test as TextTest
from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Range,
    RulePlan,
    Scan,
    Select,
    Unit,
    Values,
    Version,
)
from tidelog.schema import Kind
from tidelog.span import Span
from unit.kernels.forms import TIERS, tier
from unit.local.plans import HERE, N, Tables, call, number, rule, table

EDGES = [(1, 2), (2, 3), (3, 1), (3, 3), (3, 4)]
ELSEWHERE = Span("program.dl", 7, 1, 7, 4)


@pytest.fixture(params=TIERS)
def tables(request):
    with tier(request.param):
        yield Tables({"edge": ((N, N), EDGES), "one": ((N,), []), "two": ((N, N), []), "none": ((), [])})


def edge(*columns, version=Version.FULL):
    return Scan("edge", columns, version)


def less(left, right, operator=ComparisonOperator.LESS):
    sides = (Variable(side) if isinstance(side, str) else side for side in (left, right))
    return Comparison(operator, *sides, HERE, N)


def test_inserted_rows_read_back_once_in_order(tables):
    assert tables.rows("edge") == EDGES
    assert tables.insert("edge", [(9, 9), (1, 2), (9, 9)]) == 1
    assert tables.rows("edge") == [*EDGES, (9, 9)]


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 1), (1, 2), (2, 0)],
        [(1, 1), (1, 1), (2, 0)],
        [(1, 2), (1, 1), (1, 2)],
        [(1, 2), (2, 1), (1, 2)],
        [(1, 1), (2, 2), (3, 3), (3, 3)],
        [],
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_loaded_rows_are_kept_once_sorted_or_not(rows, size):
    loaded = Tables({"edge": ((N, N), [])})
    whole = table(loaded.schemas["edge"], rows)
    pieces = [whole.slice(start, size) for start in range(0, len(rows), size)] or [whole]
    assert loaded.backend.insert("edge", pa.concat_tables(pieces)) == len(set(rows))
    assert loaded.rows("edge") == list(dict.fromkeys(rows))
    assert loaded.insert("edge", [*rows, (9, 9)]) == 1


def test_loaded_zeros_of_either_sign_are_one_row():
    loaded = Tables({"point": ((Kind.FLOAT, N), [])})
    assert loaded.insert("point", [(-0.0, 1), (0.0, 1), (0.0, 2), (float("inf"), 0)]) == 3
    assert list(map(repr, loaded.rows("point"))) == ["(0.0, 1)", "(0.0, 2)", "(inf, 0)"]


def test_a_scan_binds_filters_and_ignores(tables):
    assert tables.derived(rule("two", edge("x", "y"), "y", "x")) == [(y, x) for x, y in EDGES]
    assert tables.derived(rule("one", edge("x", "x"), "x")) == [(3,)]
    assert tables.derived(rule("one", edge(number(3), "y"), "y")) == [(1,), (4,)]
    assert tables.derived(rule("one", edge(None, "y"), "y")) == [(2,)]
    assert tables.derived(rule("none", edge(number(1), number(2)))) == [()]


def test_a_constant_that_no_row_has_finds_nothing(tables):
    assert tables.derived(rule("one", edge(number(77), "y"), "y")) == []
    assert tables.derived(rule("none", edge(number(77), None))) == []


def test_a_join_agrees_on_shared_names(tables):
    body = Join(edge("x", "y"), edge("y", "z"))
    wanted = {(x, z) for x, y in EDGES for y2, z in EDGES if y == y2}
    assert set(tables.derived(rule("two", body, "x", "z"))) == wanted


def test_a_join_without_shared_names_is_the_product(tables):
    body = Join(edge("x", None), edge(None, "y"))
    assert set(tables.derived(rule("two", body, "x", "y"))) == {(x, y) for x, _ in EDGES for _, y in EDGES}


def test_a_join_with_the_same_new_name_twice(tables):
    assert tables.derived(rule("two", Join(edge("x", "y"), edge("z", "z")), "x", "z")) == [(1, 3), (2, 3), (3, 3)]


def test_an_antijoin_keeps_rows_without_a_match(tables):
    body = Antijoin(edge("x", "y"), edge("y", "x"))
    assert tables.derived(rule("two", body, "x", "y")) == [(1, 2), (2, 3), (3, 1), (3, 4)]
    body = Antijoin(edge("x", "y"), edge("y", None))
    assert tables.derived(rule("one", body, "y")) == [(4,)]


@pytest.mark.parametrize("seconds", [3, 200])
def test_whole_rows_are_looked_up_in_a_relation_that_was_only_loaded(seconds):
    """With few rows for each key an index answers, with many a set."""
    loaded = [(1, number) for number in range(seconds)]
    asked = [(1, 0), (1, seconds - 1), (1, seconds), (0, 1)]
    relations = {"loaded": loaded, "asked": asked, "two": []}
    tables = Tables({name: ((N, N), rows) for name, rows in relations.items()})
    there = rule("two", Join(Scan("asked", ("x", "y")), Scan("loaded", ("x", "y"))), "x", "y")
    absent = rule("two", Antijoin(Scan("asked", ("x", "y")), Scan("loaded", ("x", "y"))), "x", "y")
    assert tables.derived(there) == asked[:2]
    assert tables.derived(absent) == asked[2:]
    tables.insert("loaded", [(0, 1)])
    tables.backend.clear("two")
    assert tables.derived(there) == [asked[0], asked[1], asked[3]]


def test_selections_extensions_and_ranges(tables):
    assert tables.derived(rule("two", Select(edge("x", "y"), less("x", "y")), "x", "y")) == [(1, 2), (2, 3), (3, 4)]
    body = Extend(edge("x", None), "z", call("*", "x", "x"), N)
    assert tables.derived(rule("one", body, "z")) == [(1,), (4,), (9,)]
    body = Range(edge("x", None), "z", number(20), call("+", "x", number(20)), None, N)
    assert tables.derived(rule("one", body, "z")) == [(20,), (21,), (22,)]
    body = Range(edge("x", "z"), "z", number(3), number(5), None, N)
    assert tables.derived(rule("two", body, "z", "z")) == [(3, 3), (4, 4)]


def test_rows_with_the_same_limits_are_counted_together(tables, monkeypatch):
    monkeypatch.setattr(steps, "OUTPUT", 4)
    body = Range(edge("x", "y"), "z", number(0), number(3), None, N)
    assert sorted(tables.derived(rule("two", body, "x", "z"))) == [(x, z) for x in (1, 2, 3) for z in range(3)]


def test_a_range_longer_than_a_batch_has_every_value(tables, monkeypatch):
    monkeypatch.setattr(steps, "OUTPUT", 4)
    body = Range(Unit(), "z", number(0), number(10), None, N)
    assert tables.derived(rule("one", body, "z")) == [(each,) for each in range(10)]


def test_a_join_gives_more_rows_than_a_batch_holds(tables, monkeypatch):
    monkeypatch.setattr(matches_file, "OUTPUT", 2)
    body = Join(edge("x", "y"), edge("y", "z"))
    wanted = {(x, z) for x, y in EDGES for y2, z in EDGES if y == y2}
    assert set(tables.derived(rule("two", body, "x", "z"))) == wanted


@pytest.mark.parametrize("operator", [each for each in ComparisonOperator if each.value in ("<", "<=", ">", ">=")])
def test_a_comparison_with_a_new_column_is_looked_up_in_order(tables, operator):
    body = Select(Join(edge("x", "y"), edge("a", "b")), less("b", "y", operator))
    holds = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}[operator.value]
    wanted = {(y, b) for _, y in EDGES for _, b in EDGES if holds(b, y)}
    assert set(tables.derived(rule("two", body, "y", "b"))) == wanted


def test_facts_of_the_text(tables):
    values = Values(("c0", "c1"), (N, N), ((5, 6), (7, 8), (5, 6)))
    assert tables.derived(RulePlan(1, "two", values, HERE, "two(5, 6).", {})) == [(5, 6), (7, 8)]
    assert tables.derived(rule("none", Unit())) == [()]
    assert tables.derived(rule("one", Unit(), call("+", number(1), number(2)))) == [(3,)]
    joined = Join(edge("x", "y"), Values(("y", "z"), (N, N), ((3, 30), (4, 40))))
    assert set(tables.derived(rule("two", joined, "x", "z"))) == {(2, 30), (3, 30), (3, 40)}


def test_distinct_columns_of_another_plan(tables):
    body = Join(Distinct(edge("x", "y"), ("x",)), edge("x", number(4)))
    assert tables.derived(rule("one", body, "x")) == [(3,)]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (AggregateFunction.COUNT, {(1, 1), (2, 1), (3, 3), (4, 0)}),
        (AggregateFunction.SUM, {(1, 2), (2, 3), (3, 8), (4, 0)}),
        (AggregateFunction.MIN, {(1, 2), (2, 3), (3, 1)}),
        (AggregateFunction.MAX, {(1, 2), (2, 3), (3, 4)}),
    ],
    ids=lambda part: getattr(part, "value", ""),
)
def test_an_aggregate_of_the_rows_that_agree_on_the_keys(tables, function, wanted):
    value = None if function is AggregateFunction.COUNT else Variable("a")
    body = GroupJoin(edge(None, "x"), edge("x", "a"), ("x",), function, value, "z", N)
    assert set(tables.derived(rule("two", body, "x", "z"))) == wanted


def test_a_count_counts_equal_rows_each(tables):
    body = GroupJoin(Unit(), edge("a", None), (), AggregateFunction.COUNT, None, "z", N)
    assert tables.derived(rule("one", body, "z")) == [(5,)]


def test_text_and_tests():
    symbols = Tables({"word": ((Kind.SYMBOL,), [("tide",), ("log",), ("",)]), "out": ((Kind.SYMBOL,), [])})
    pattern = Constant(".*o.*", Kind.SYMBOL, kind=Kind.SYMBOL)
    body = Select(Scan("word", ("x",)), TextTest("match", (pattern, Variable("x")), False, HERE))
    assert symbols.derived(rule("out", body, "x", kinds={"x": Kind.SYMBOL})) == [("log",)]


def test_rounds_read_old_and_delta_rows(tables):
    """`path` from `edge`, with the delta versions that semi-naive evaluation asks for."""
    grow = rule("two", Join(Scan("two", ("x", "y"), Version.DELTA), edge("y", "z")), "x", "z", number=7)
    assert tables.backend.derive([rule("two", edge("x", "y"), "x", "y", number=5)]).rows == {5: 5}
    assert tables.backend.advance(["two", "one"]) == {"two": 5, "one": 0}
    assert tables.backend.derive([grow]).rows[7] == 8
    assert tables.rows("two") == EDGES, "what is staged is not stored yet"
    assert tables.backend.advance(["two"])["two"] == 4
    assert tables.rows("two")[:5] == EDGES
    assert set(tables.rows("two")[5:]) == {(1, 3), (2, 1), (2, 4), (3, 2)}
    counts = [
        tables.backend.derive([rule("one", Scan("two", ("x", None), version), "x")]).rows[1]
        for version in (Version.OLD, Version.DELTA, Version.FULL)
    ]
    assert counts == [5, 4, 9]


def test_clear_forgets_rows_and_what_was_looked_up(tables):
    body = rule("two", Join(edge("x", "y"), edge("y", "z")), "x", "z")
    tables.derived(body)
    tables.backend.clear("edge")
    tables.backend.clear("two")
    assert tables.rows("edge") == []
    tables.insert("edge", [(8, 9), (9, 10)])
    assert tables.derived(body) == [(8, 10)]


def test_an_error_names_the_place_of_the_expression_and_the_row(tables):
    body = Extend(edge("x", "y"), "z", call("/", "x", call("-", "y", number(4), ELSEWHERE)), N)
    with pytest.raises(EvaluationError, match="division by zero for x = 3, y = 4 in the rule one") as caught:
        tables.derived(rule("one", body, "z"))
    assert caught.value.span == HERE


def test_a_head_without_a_value_is_an_error(tables):
    with pytest.raises(EvaluationError, match="outside the range of number") as caught:
        tables.derived(rule("one", edge("x", None), call("+", "x", number(2**63 - 1), ELSEWHERE)))
    assert caught.value.span == ELSEWHERE


def test_rows_without_a_value_do_not_matter_where_the_rest_is_false(tables):
    quotient = Extend(edge("x", "y"), "z", call("/", "x", call("-", "y", number(4))), N)
    wanted = [(0,), (-2,), (-1,), (-3,)]
    assert tables.derived(rule("one", Select(quotient, less("y", number(4))), "z")) == wanted
    assert tables.derived(rule("one", Join(quotient, edge("y", None)), "z")) == []
    with pytest.raises(EvaluationError):
        tables.derived(rule("one", Select(quotient, less("x", number(4))), "z"))


def test_an_aggregate_fails_only_where_a_row_asks_for_it(tables):
    inner = Extend(edge("x", "a"), "b", call("/", "a", call("-", "a", number(4))), N)
    total = GroupJoin(edge("y", "x"), inner, ("x",), AggregateFunction.SUM, Variable("b"), "z", N)
    with pytest.raises(EvaluationError, match="division by zero"):
        tables.derived(rule("two", total, "x", "z"))
    assert set(tables.derived(rule("two", Select(total, less("x", number(3))), "x", "z"))) == {(1, -1), (2, -3)}


@pytest.mark.parametrize("form", TIERS)
def test_threads_give_the_same_rows(form, monkeypatch):
    monkeypatch.setattr(team_file, "_MOST_NEW", 100)
    monkeypatch.setattr(team_file, "_WORTH_SHARING", 0)
    monkeypatch.setattr(team_file, "_TRIAL", 0)
    edges = [(number, number * 7 % 1500) for number in range(1500)]
    joined = rule("two", Join(edge("x", "y"), edge("y", "z")), "x", "z")
    left_out = rule("rest", Antijoin(edge("x", "y"), Scan("known", ("x", "y"))), "x", "y")
    summed = rule("two", Extend(edge("x", "y"), "z", call("+", "x", "y"), N), "x", "z")
    with tier(form):
        found = []
        for jobs in (1, 2, 3):
            relations = {"edge": edges, "known": edges[::2], "rest": [], "two": []}
            both = Tables({name: ((N, N), rows) for name, rows in relations.items()}, jobs)
            found.append([sorted(both.derived(each)) for each in (left_out, joined, summed)])
            assert both.backend.derive([joined]).rows == {1: 1500}
    assert found[0][0] == sorted(edges[1::2])
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_nothing_is_added_to_the_head_while_threads_ask_it(monkeypatch):
    asking = []
    asked = []

    class Watched(PairSet):
        def unknown(self, rows):
            asking.append(self)
            asked.append(self)
            sleep(0.001)
            found = super().unknown(rows)
            asking.remove(self)
            return found

        def add(self, rows, out, found):
            assert self not in asking, "a thread reads the set that rows are added to"
            return super().add(rows, out, found)

    monkeypatch.setattr(relation_file, "_GATHER", 50)
    monkeypatch.setattr(relation_file, "membership_for", lambda _width: Watched())
    monkeypatch.setattr(team_file, "_WORTH_SHARING", 0)
    monkeypatch.setattr(team_file, "_TRIAL", 0)
    monkeypatch.setattr(team_file, "_PIECE", 100)
    edges = [(number, number * 7 % 1500) for number in range(1500)]
    both = Tables({"edge": ((N, N), edges), "two": ((N, N), [])}, 2)
    assert len(both.derived(rule("two", Join(edge("x", "y"), edge("y", "z")), "x", "z"))) == 1500
    assert asked, "no thread asked: the work was not shared"


def test_threads_raise_the_error_of_the_expression(monkeypatch):
    monkeypatch.setattr(team_file, "_WORTH_SHARING", 0)
    monkeypatch.setattr(team_file, "_TRIAL", 0)
    both = Tables({"edge": ((N, N), [(each, each) for each in range(1500)]), "one": ((N,), [])}, 2)
    body = Extend(edge("x", "y"), "z", call("/", "x", call("-", "y", number(1234))), N)
    with pytest.raises(EvaluationError, match="x = 1234") as caught:
        both.derived(rule("one", body, "z"))
    assert caught.value.span == HERE


def test_a_plan_without_a_project_is_refused():
    with pytest.raises(AssertionError):
        Tables({"edge": ((N, N), [])}).backend.derive([RulePlan(1, "edge", edge("x", "y"), HERE, "", {})])
