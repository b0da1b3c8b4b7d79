"""The function table says what docs/explanation/meaning.md says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.language.functions import (
    FUNCTIONS,
    RANGES,
    TOTAL,
    Notation,
    NoValue,
    aggregate,
    apply,
    compare,
    holds,
    range_values,
)
from tidelog.language.syntax_tree import AggregateFunction, ComparisonOperator
from tidelog.schema import Kind

N, U, F, S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL
LEAST, GREATEST = RANGES[N]
GREATEST_UNSIGNED = RANGES[U][1]


def value(name, kind, *values):
    signature = next(s for s in FUNCTIONS[name].takes(len(values)) if s.operands[0] is kind)
    return apply(name, signature.operands, signature.result, values)


def reason(name, kind, *values):
    with pytest.raises(NoValue) as caught:
        value(name, kind, *values)
    return caught.value.reason


@pytest.mark.parametrize(
    ("left", "right", "quotient", "remainder"), [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1)]
)
def test_integer_division_rounds_toward_zero(left, right, quotient, remainder):
    assert value("/", N, left, right) == quotient
    assert value("%", N, left, right) == remainder


@pytest.mark.parametrize("kind", [N, U, F])
def test_dividing_by_zero_has_no_value(kind):
    zero = 0.0 if kind is F else 0
    assert reason("/", kind, zero + 1, zero) == "division by zero"


def test_the_remainder_of_division_by_zero_has_no_value():
    assert reason("%", N, 1, 0) == "division by zero"


def test_a_result_outside_the_range_never_wraps():
    assert reason("+", N, GREATEST, 1) == "the result is outside the range of number"
    assert reason("-", U, 0, 1) == "the result is outside the range of unsigned"
    assert reason("*", N, LEAST, -1) == "the result is outside the range of number"
    assert reason("/", N, LEAST, -1) == "the result is outside the range of number"
    assert reason("neg", N, LEAST) == "the result is outside the range of number"
    assert reason("neg", U, 1) == "the result is outside the range of unsigned"


def test_the_remainder_of_the_least_number_by_minus_one_is_zero():
    assert value("%", N, LEAST, -1) == 0


@pytest.mark.parametrize(
    ("base", "exponent", "power"), [(2, 62, 2**62), (0, 0, 1), (-1, 10**18 + 1, -1), (1, 10**18, 1), (0, 99, 0)]
)
def test_powers_of_integers(base, exponent, power):
    assert value("^", N, base, exponent) == power


def test_powers_of_integers_without_a_value():
    assert reason("^", N, 2, -1) == "a negative exponent of an integer"
    assert reason("^", N, 2, 63) == "the result is outside the range of number"
    assert reason("^", U, 3, 10**18) == "the result is outside the range of unsigned"
    assert value("^", U, 2, 63) == 2**63


def test_floats_overflow_to_infinity_and_have_no_nan():
    assert value("*", F, 1e308, 10.0) == math.inf
    assert reason("-", F, math.inf, math.inf) == "the result is not a number (NaN)"
    assert reason("^", F, -8.0, 0.5) == "the result is not a number (NaN)"
    assert value("^", F, -10.0, 309.0) == -math.inf
    assert value("^", F, 0.0, -1.0) == math.inf


def test_there_is_no_negative_zero():
    assert math.copysign(1, value("*", F, 0.0, -1.0)) == 1
    assert math.copysign(1, value("neg", F, 0.0)) == 1
    assert math.copysign(1, value("to_float", S, "-0.0")) == 1
    assert math.copysign(1, aggregate(AggregateFunction.SUM, F, [])) == 1


def test_bits_of_negative_numbers_are_those_of_two_s_complement():
    assert value("band", N, -1, 12) == 12
    assert value("bnot", N, 0) == -1
    assert value("bnot", U, 0) == GREATEST_UNSIGNED
    assert value("bxor", N, -1, 1) == -2


def test_shifts_use_the_low_six_bits_and_lose_what_falls_out():
    assert value("bshl", N, 1, 63) == LEAST
    assert value("bshl", N, 1, 64) == 1
    assert value("bshl", U, GREATEST_UNSIGNED, 1) == GREATEST_UNSIGNED - 1
    assert value("bshr", N, -8, 1) == -4
    assert value("bshru", N, -1, 1) == GREATEST
    assert value("bshr", U, GREATEST_UNSIGNED, 63) == 1
    assert value("bshl", N, 1, -1) == LEAST


@given(st.integers(LEAST, GREATEST), st.integers(LEAST, GREATEST), st.sampled_from(["band", "bor", "bxor", "bshl"]))
def test_bit_functions_always_have_a_value_of_the_kind(left, right, name):
    assert LEAST <= value(name, N, left, right) <= GREATEST


def test_logic_takes_anything_but_zero_as_true():
    assert [value("land", N, a, b) for a, b in ((2, -3), (0, 1))] == [1, 0]
    assert [value("lor", N, a, b) for a, b in ((0, 0), (0, 7))] == [0, 1]
    assert [value("lxor", N, a, b) for a, b in ((2, 3), (0, 3))] == [0, 1]
    assert [value("lnot", N, a) for a in (0, 5)] == [1, 0]


def test_min_and_max_take_any_number_of_operands_of_any_kind():
    assert value("min", N, 3, 1, 2) == 1
    assert value("max", S, "a", "b") == "b"
    assert value("max", F, 1.5, 2.5) == 2.5


def test_text_is_counted_in_code_points():
    assert value("strlen", S, "né€😀") == 4
    assert value("cat", S, "a", "b", "c") == "abc"
    assert value("substr", S, "né€😀", 1, 2) == "é€"


def test_substr_leaves_out_what_lies_outside_the_text():
    assert value("substr", S, "abc", 2, 10) == "c"
    assert value("substr", S, "abc", 5, 1) == ""
    assert reason("substr", S, "abc", -1, 2) == "a negative start or length of substr"
    assert reason("substr", S, "abc", 0, -1) == "a negative start or length of substr"


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("-12", -12), ("+7", 7), ("0x1F", 31), ("0b101", 5), ("007", 7)]
)
def test_texts_that_are_numbers(text, number):
    assert value("to_number", S, text) == number


@pytest.mark.parametrize("text", ["", "x", "1.0", " 1", "1 ", "1_000", "٣", "--1", "1u", "0x"])
def test_texts_that_are_no_numbers(text):
    assert reason("to_number", S, text).endswith("is not a number")


def test_numbers_in_text_must_be_in_range():
    assert value("to_unsigned", S, str(GREATEST_UNSIGNED)) == GREATEST_UNSIGNED
    assert reason("to_number", S, str(GREATEST + 1)) == "the result is outside the range of number"
    assert reason("to_unsigned", S, "-1") == "the result is outside the range of unsigned"


def test_texts_that_are_floats():
    assert [value("to_float", S, text) for text in ("1", "-.5", "2.", "1e3", "inf", "-inf")] == [
        1.0,
        -0.5,
        2.0,
        1000.0,
        math.inf,
        -math.inf,
    ]
    assert reason("to_float", S, "nan") == "'nan' is not a float"


def test_values_as_text():
    assert value("to_string", N, -3) == "-3"
    assert value("to_string", F, 0.1) == "0.1"
    assert value("to_string", S, "a") == "a"


@given(st.floats(allow_nan=False))
def test_floats_survive_the_way_through_text(number):
    assert value("to_float", S, value("to_string", F, number)) == number


def test_conversions_round_toward_zero_and_check_the_range():
    assert value("ftoi", F, -2.9) == -2
    assert value("ftou", F, 2.9) == 2
    assert value("itof", N, 3) == 3.0
    assert value("utof", U, 3) == 3.0
    assert value("itou", N, 3) == 3
    assert value("utoi", U, 3) == 3
    assert reason("itou", N, -1) == "the result is outside the range of unsigned"
    assert reason("utoi", U, GREATEST_UNSIGNED) == "the result is outside the range of number"
    assert reason("ftoi", F, 1e19) == "the result is outside the range of number"
    assert reason("ftoi", F, math.inf) == "the result is outside the range of number"
    assert reason("ftou", F, -1.0) == "the result is outside the range of unsigned"


def test_ord_is_left_to_the_evaluator():
    with pytest.raises(LookupError):
        value("ord", S, "a")


def test_contains_and_match():
    assert holds("contains", ("b", "abc"))
    assert not holds("contains", ("abc", "b"))
    assert holds("match", ("a.*", "abc"))
    assert not holds("match", ("b", "abc"))
    with pytest.raises(NoValue, match="is not a regular expression"):
        holds("match", ("(", "abc"))


def test_comparisons_of_symbols_go_by_code_points():
    assert compare(ComparisonOperator.LESS, "Z", "a")
    assert compare(ComparisonOperator.LESS, "z", "é")
    assert compare(ComparisonOperator.GREATER_EQUAL, "a", "a")
    assert not compare(ComparisonOperator.NOT_EQUAL, 1, 1)


def test_ranges_stop_before_their_end():
    assert list(range_values(N, 1, 4)) == [1, 2, 3]
    assert list(range_values(N, 4, 1)) == [4, 3, 2]
    assert list(range_values(U, 2, 0)) == [2, 1]
    assert list(range_values(N, 1, 8, 3)) == [1, 4, 7]
    assert list(range_values(N, 4, 1, 1)) == []
    assert list(range_values(N, 5, 0, -2)) == [5, 3, 1]
    assert list(range_values(F, 0.0, 0.5, 0.25)) == [0.0, 0.25]
    assert list(range_values(N, 1, 1)) == []


def test_ranges_without_a_value_say_so_before_the_first_step():
    with pytest.raises(NoValue, match="step of a range is 0"):
        range_values(N, 1, 4, 0)
    with pytest.raises(NoValue, match="infinite"):
        range_values(F, 0.0, math.inf)


def test_aggregates_of_nothing():
    assert aggregate(AggregateFunction.COUNT, None, []) == 0
    assert aggregate(AggregateFunction.SUM, N, []) == 0
    for function in (AggregateFunction.MIN, AggregateFunction.MAX, AggregateFunction.MEAN):
        assert aggregate(function, N, []) is None


def test_aggregates_of_values():
    assert aggregate(AggregateFunction.COUNT, None, [0, 0]) == 2
    assert aggregate(AggregateFunction.SUM, N, [1, 2, 2]) == 5
    assert aggregate(AggregateFunction.MIN, S, ["b", "a"]) == "a"
    assert aggregate(AggregateFunction.MAX, F, [1.0, 2.0]) == 2.0
    assert aggregate(AggregateFunction.MEAN, N, [1, 2]) == 1.5


def test_sums_of_integers_are_exact_and_checked():
    assert aggregate(AggregateFunction.SUM, N, [GREATEST, 1, -1]) == GREATEST
    assert aggregate(AggregateFunction.MEAN, N, [GREATEST, GREATEST]) == float(GREATEST)
    with pytest.raises(NoValue):
        aggregate(AggregateFunction.SUM, N, [GREATEST, 1])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)), st.randoms(use_true_random=False))
def test_the_order_of_a_sum_of_floats_does_not_matter(values, randomness):
    shuffled = randomness.sample(values, len(values))
    assert aggregate(AggregateFunction.SUM, F, values) == aggregate(AggregateFunction.SUM, F, shuffled)


def test_a_sum_of_floats_may_pass_beyond_the_greatest_on_its_way():
    assert aggregate(AggregateFunction.SUM, F, [1e308, 1e308, -1e308]) == 1e308
    assert aggregate(AggregateFunction.SUM, F, [1e308, 1e308]) == math.inf
    with pytest.raises(NoValue):
        aggregate(AggregateFunction.SUM, F, [math.inf, -math.inf])


def test_signatures_of_overloads_and_of_any_number_of_operands():
    assert [str(s) for s in FUNCTIONS["+"].takes(2)] == ["(number, number)", "(unsigned, unsigned)", "(float, float)"]
    assert [str(s) for s in FUNCTIONS["cat"].takes(3)] == ["(symbol, symbol, symbol)"]
    assert FUNCTIONS["cat"].takes(1) == ()
    assert [len(s.operands) for s in FUNCTIONS["range"].takes(3)] == [3, 3, 3]
    assert FUNCTIONS["range"].counts == "2 or 3"
    assert FUNCTIONS["min"].counts == "at least 2"


def test_the_printer_can_tell_how_a_function_is_written():
    assert FUNCTIONS["band"].notation is Notation.INFIX
    assert FUNCTIONS["neg"].notation is Notation.PREFIX
    assert FUNCTIONS["cat"].notation is Notation.CALL


SAMPLES = {N: [LEAST, -1, 0, 1, 63, GREATEST], U: [0, 1, GREATEST_UNSIGNED], F: [0.0, -1.5, math.inf], S: ["", "a"]}


@pytest.mark.parametrize("name", sorted(TOTAL - {"ord"}))
def test_total_functions_have_a_value_everywhere(name):
    function = FUNCTIONS[name]
    for signature in function.signatures:
        for first in SAMPLES[signature.operands[0]]:
            for last in SAMPLES[signature.operands[-1]]:
                operands = (first, last)[: len(signature.operands)]
                apply(name, signature.operands, signature.result, operands)
