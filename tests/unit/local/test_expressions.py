"""Expressions over a batch give, row by row, what `language.functions` says; rows without a value are marked."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.backends.local import expressions
from tidelog.backends.local.batch import Batch, layout_of
from tidelog.backends.local.expressions import compute_ids, compute_numbers
from tidelog.facts.values import Values
from tidelog.language.functions import FUNCTIONS, NoValue, apply, compare, holds
from tidelog.language.syntax_tree import Call, Cast, Comparison, ComparisonOperator, Constant, Test, Variable
from tidelog.schema import Kind
from tidelog.span import Span

NUMBER, UNSIGNED, FLOAT, SYMBOL = Kind
LEAST, GREATEST = -(2**63), 2**63 - 1
EDGES = {
    NUMBER: [0, 1, -1, 2, -7, 3, 64, 2**31, 2**32 + 1, -(2**32), 3037000500, GREATEST, GREATEST - 1, LEAST, LEAST + 1],
    UNSIGNED: [0, 1, 2, 7, 63, 2**32, 2**32 - 1, 2**63, 2**63 - 1, 2**64 - 1, 2**64 - 2],
    FLOAT: [0.0, 1.0, -1.0, 0.5, -3.7, 2.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, 2.0**63, -(2.0**63)],
    SYMBOL: ["", "a", "b", "é", "日本", "12", "-3", "0x1F", "1.5", "inf", "[", "a+", str(2**64)],
}
HERE = Span("program.dl", 3, 5, 3, 9)

SIGNATURES = [
    (name, signature.operands, signature.result)
    for name, function in FUNCTIONS.items()
    if name not in ("ord", "range")
    for signature in function.signatures
]
signatures = pytest.mark.parametrize(
    ("function", "operands", "kind"),
    SIGNATURES,
    ids=[f"{name}-{'-'.join(kind.value for kind in operands)}" for name, operands, _ in SIGNATURES],
)


class Rows:
    """Rows of values with named columns, as a batch and as Python tuples."""

    def __init__(self, kinds, rows):
        self.values, self.rows = Values(), rows
        self.names = [f"x{number}" for number in range(len(kinds))]
        self.kinds = dict(zip(self.names, kinds, strict=True))
        ids = np.zeros((len(rows), len(kinds)), np.int32)
        for number, kind in enumerate(kinds):
            ids[:, number] = self.values.identify_all(kind, [row[number] for row in rows])
        self.batch = Batch(ids, layout_of(tuple(self.names)))

    @property
    def variables(self):
        return tuple(map(Variable, self.names))

    def computed(self, term, kind):
        """The value of `term` for each row, None where there is none, and the problem."""
        ids, missing = compute_ids(term, self.batch, self.kinds, self.values)
        decoded = self.values.decode(kind, np.ascontiguousarray(ids, np.int32)).to_pylist()
        gone = [False] * len(self.rows) if missing is None else missing.rows.tolist()
        found = [None if lost else value for value, lost in zip(decoded, gone, strict=True)]
        if kind is not SYMBOL:
            numbers, missing = compute_numbers(term, self.batch, self.kinds, self.values)
            assert gone == ([False] * len(self.rows) if missing is None else missing.rows.tolist())
            again = [None if lost else value for value, lost in zip(numbers.tolist(), gone, strict=True)]
            assert list(map(repr, again)) == list(map(repr, found))
        return found, missing and missing.problem

    def tested(self, condition):
        """Whether `condition` holds for each row, None where it has no value, and the problem."""
        held, missing = expressions.test(condition, self.batch, self.kinds, self.values)
        gone = [False] * len(self.rows) if missing is None else missing.rows.tolist()
        return [None if lost else value for value, lost in zip(held.tolist(), gone, strict=True)], missing


def value_or_none(function, operands, kind, row):
    try:
        return apply(function, operands, kind, tuple(row))
    except NoValue:
        return None


def same(found, wanted):
    """Equal, zeros by their sign too."""
    assert list(map(repr, found)) == list(map(repr, wanted))


@signatures
def test_every_function_at_the_edges_of_its_operands(function, operands, kind):
    few = {each: EDGES[each] if len(operands) < 3 else [*EDGES[each][:4], EDGES[each][-1]] for each in Kind}
    table = Rows(operands, list(itertools.product(*(few[each] for each in operands))))
    call = Call(function, table.variables, HERE, kind, operands)
    wanted = [value_or_none(function, operands, kind, row) for row in table.rows]
    found, problem = table.computed(call, kind)
    same(found, wanted)
    if None in wanted:
        assert problem.span == HERE
        assert problem.reason


BINARY = [each for each in SIGNATURES if len(each[1]) == 2]


@pytest.mark.parametrize(("function", "operands", "kind"), BINARY, ids=[f"{f}-{o[0].value}" for f, o, _ in BINARY])
def test_a_constant_operand_counts_for_every_row(function, operands, kind):
    table = Rows(operands[:1], [(value,) for value in EDGES[operands[0]]])
    for value in EDGES[operands[1]][:4]:
        constant = Constant(value, operands[1], kind=operands[1])
        found, _ = table.computed(Call(function, (table.variables[0], constant), HERE, kind, operands), kind)
        same(found, [value_or_none(function, operands, kind, (row[0], value)) for row in table.rows])
        found, _ = table.computed(Call(function, (constant, table.variables[0]), HERE, kind, operands), kind)
        same(found, [value_or_none(function, operands, kind, (value, row[0])) for row in table.rows])
        found, _ = table.computed(Call(function, (constant, constant), HERE, kind, operands), kind)
        same(found, [value_or_none(function, operands, kind, (value, value))] * len(table.rows))


@pytest.mark.parametrize("function", ["+", "-", "*", "/", "%"])
@settings(max_examples=40)
@given(data=st.data())
def test_any_integers(function, data):
    kind, low, high = data.draw(st.sampled_from([(NUMBER, LEAST, GREATEST), (UNSIGNED, 0, 2**64 - 1)]))
    near_root = st.integers(-(2**33), 2**33) if kind is NUMBER else st.integers(0, 2**33)
    integers = st.integers(low, high) | near_root | st.integers(high - 3, high)
    table = Rows((kind, kind), data.draw(st.lists(st.tuples(integers, integers), max_size=12)))
    found, _ = table.computed(Call(function, table.variables, HERE, kind, (kind, kind)), kind)
    same(found, [value_or_none(function, (kind, kind), kind, row) for row in table.rows])


@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.value)
@pytest.mark.parametrize("operator", list(ComparisonOperator), ids=lambda operator: operator.value)
def test_every_comparison_at_the_edges(operator, kind):
    table = Rows((kind, kind), list(itertools.product(EDGES[kind], repeat=2)))
    held, missing = table.tested(Comparison(operator, *table.variables, HERE, kind))
    assert missing is None
    assert held == [compare(operator, left, right) for left, right in table.rows]
    computed = Call("max", (table.variables[0], table.variables[1]), HERE, kind, (kind, kind))
    held, _ = table.tested(Comparison(operator, computed, table.variables[1], HERE, kind))
    assert held == [compare(operator, max(left, right), right) for left, right in table.rows]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("function", ["contains", "match"])
def test_tests_of_text(function, negated):
    table = Rows((SYMBOL, SYMBOL), list(itertools.product(EDGES[SYMBOL], repeat=2)))
    held, missing = table.tested(Test(function, table.variables, negated, HERE))

    def wanted(row):
        try:
            return holds(function, row) != negated
        except NoValue:
            return None

    assert held == [wanted(row) for row in table.rows]
    assert (missing is not None) == (function == "match")


def quotient(kind, span=HERE):
    return Call("/", (Variable("x0"), Variable("x1")), span, kind, (kind, kind))


@pytest.mark.parametrize("function", ["ftoi", "ftou", "to_string", "neg"])
def test_a_function_of_an_operand_without_a_value_has_none_either(function):
    table = Rows((FLOAT, FLOAT), [(0.0, 0.0), (6.0, 2.0), (math.inf, math.inf), (1.0, 0.0)])
    kind = next(kind for name, operands, kind in SIGNATURES if name == function and operands == (FLOAT,))
    found, problem = table.computed(Call(function, (quotient(FLOAT),), Span("f", 1, 1, 1, 2), kind, (FLOAT,)), kind)
    same(found, [None, apply(function, (FLOAT,), kind, (3.0,)), None, None])
    assert problem.span == HERE, "the place of the quotient, not of the function around it"


def test_rows_without_a_value_on_either_side_add_up():
    table = Rows((NUMBER, NUMBER), [(0, 5), (5, 0), (0, 0), (4, 2), (LEAST, -1)])
    mirrored = Call("/", (Variable("x1"), Variable("x0")), HERE, NUMBER, (NUMBER, NUMBER))
    total = Call("+", (quotient(NUMBER), mirrored), HERE, NUMBER, (NUMBER, NUMBER))
    assert table.computed(total, NUMBER)[0] == [None, None, None, 2, None]
    held, _ = table.tested(Comparison(ComparisonOperator.EQUAL, quotient(NUMBER), mirrored, HERE, NUMBER))
    assert held == [None, None, None, False, None]


def test_a_value_that_is_not_used_is_still_a_missing_value():
    table = Rows((NUMBER, NUMBER), [(1, 0), (1, 1)])
    both = Call("band", (quotient(NUMBER), Constant(0, None, kind=NUMBER)), HERE, NUMBER, (NUMBER, NUMBER))
    assert table.computed(both, NUMBER)[0] == [None, 0]


@pytest.mark.parametrize("function", ["+", "^", "min"])
def test_a_batch_without_rows_has_no_values(function):
    table = Rows((NUMBER, NUMBER), [])
    assert table.computed(Call(function, table.variables, HERE, NUMBER, (NUMBER, NUMBER)), NUMBER) == ([], None)
    constants = (Constant(1, None, kind=NUMBER), Constant(2, None, kind=NUMBER))
    assert table.computed(Call(function, constants, HERE, NUMBER, (NUMBER, NUMBER)), NUMBER)[0] == []


def test_min_of_three_and_casts():
    table = Rows((NUMBER,) * 3, list(itertools.permutations([3, 1, 2])))
    least = Call("min", table.variables, HERE, NUMBER, (NUMBER,) * 3)
    assert table.computed(Cast(least, "Small", kind=NUMBER), NUMBER)[0] == [1] * 6


def test_ord_is_equal_for_equal_symbols_only():
    table = Rows((SYMBOL,), [("a",), ("b",), ("a",), ("",)])
    found, _ = table.computed(Call("ord", table.variables, HERE, NUMBER, (SYMBOL,)), NUMBER)
    assert found[0] == found[2]
    assert len(set(found)) == 3


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(EDGES[NUMBER]), st.integers(1, 6)), min_size=1, max_size=8), st.data())
def test_rows_side_by_side_that_agree_are_computed_once(runs, data):
    rows = Rows(
        [NUMBER, NUMBER], [(value, data.draw(st.integers(0, 3))) for value, count in runs for _ in range(count)]
    )
    term = Call("+", (Variable("x0"), Constant(1, None, HERE, NUMBER)), HERE, NUMBER, (NUMBER, NUMBER))
    alone = compute_ids(term, rows.batch, rows.kinds, rows.values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "_MANY_ROWS", 1)
        patch.setattr(expressions, "_LONG_RUNS", 1)
        lengths, some = expressions._without_repetition(term, rows.batch)
        ids, missing = compute_ids(term, rows.batch, rows.kinds, rows.values)
    assert lengths is not None
    assert some.size == 1 + sum(one[0] != other[0] for one, other in itertools.pairwise(rows.rows))
    lost = np.zeros(len(rows.rows), np.bool_) if missing is None else missing.rows
    assert lost.tolist() == [value == GREATEST for value, _ in rows.rows]
    assert ids[~lost].tolist() == alone[0][~lost].tolist()
