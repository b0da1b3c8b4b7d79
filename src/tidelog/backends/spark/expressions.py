"""Terms and conditions as columns: Catalyst's where it means exactly the same, else the local engine in Arrow batches.

A column that may be without a value comes with a second one that says why: the number of the expression among those of
the term, and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BooleanType, StringType, StructType

from tidelog.backends.spark.arrow_terms import aggregate_lists, evaluate_condition, evaluate_term
from tidelog.backends.spark.layout import SPARK_TYPES, variable_column
from tidelog.language.functions import DIVISION_BY_ZERO, TOTAL
from tidelog.language.syntax_tree import (
    AggregateFunction,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Term,
    Test,
    Variable,
)
from tidelog.plan.walk import names_in, operands_of
from tidelog.schema import Kind, Value
from tidelog.span import Span

Kinds = Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class Computed:
    """A value for each row. `reason` says why there is none, None where there is always one.

    It is a text such as `2 division by zero`: the number counts `spans`, the places of what may be without a value.
    """

    value: Column
    reason: Column | None = None
    spans: tuple[Span, ...] = ()


def compute(term: Term, kinds: Kinds) -> Computed:
    """The value of `term` for each row of a body with the variables `kinds`."""
    spans = spans_of(term)
    if _is_exact(term):
        value, reasons = _column(term, spans)
        return Computed(value, sql.coalesce(*reasons) if reasons else None, spans)
    names = tuple(sorted(names_in(term)))
    known = {name: kinds[name] for name in names}
    result = _struct(SPARK_TYPES[kind_of(term, kinds)])
    both = _arrow_function(evaluate_term(term, names, known, spans), result, names)
    return Computed(both["value"], None if is_total(term) else both["reason"], spans)


def test(condition: Comparison | Test, kinds: Kinds) -> Computed:
    """Whether `condition` holds, for each row of a body with the variables `kinds`."""
    spans = (*(span for term in operands_of(condition) for span in spans_of(term)), condition.span)
    if _is_exact_condition(condition):
        columns: list[Column] = []
        reasons: list[Column] = []
        for term in operands_of(condition):
            value, why = _column(term, spans)
            columns.append(value)
            reasons += why
        return Computed(_holds(condition, columns), sql.coalesce(*reasons) if reasons else None, spans)
    names = tuple(sorted(names_in(*operands_of(condition))))
    known = {name: kinds[name] for name in names}
    both = _arrow_function(evaluate_condition(condition, names, known, spans), _struct(BooleanType()), names)
    return Computed(both["value"], both["reason"], spans)


def aggregate_of_list(function: AggregateFunction, kind: Kind, values: Column) -> tuple[Column, Column]:
    """The aggregate of each list of values of `kind`, computed exactly, and why it has no value; null for an empty
    list where the aggregate of nothing is none."""
    both = _applied(aggregate_lists(function, kind), _struct(SPARK_TYPES[Kind.FLOAT]), [values])
    return both["value"], both["reason"]


def literal(value: Value, kind: Kind) -> Column:
    """A constant."""
    if kind is Kind.UNSIGNED:
        return sql.lit(str(value)).cast(SPARK_TYPES[kind])
    return sql.lit(value).cast(SPARK_TYPES[kind])


def kind_of(term: Term, kinds: Kinds) -> Kind:
    """The kind of the value of a term."""
    kind = kinds[term.name] if isinstance(term, Variable) else getattr(term, "kind", None)
    if kind is None and isinstance(term, Cast):
        return kind_of(term.term, kinds)
    assert isinstance(kind, Kind)
    return kind


def is_total(term: Term) -> bool:
    """Whether `term` has a value for all rows."""
    return all(call.function in TOTAL for call in calls_of(term))


def calls_of(term: Term) -> Iterator[Call]:
    """The calls of `term`, outer ones first."""
    match term:
        case Call(_, arguments):
            yield term
            for argument in arguments:
                yield from calls_of(argument)
        case Cast(inner):
            yield from calls_of(inner)
        case _:
            pass


def spans_of(term: Term) -> tuple[Span, ...]:
    """The places of the calls of `term`."""
    return tuple(call.span for call in calls_of(term))


def _struct(value: Any) -> StructType:
    return StructType().add("value", value).add("reason", StringType())


def _arrow_function(function: Callable[..., Any], result: StructType, names: tuple[str, ...]) -> Column:
    # A function without a column would not know how many rows there are.
    columns = [sql.col(variable_column(name)) for name in names] or [sql.lit(0)]
    return _applied(function, result, columns)


def _applied(function: Callable[..., Any], result: StructType, columns: list[Column]) -> Column:
    # Called deterministic, it would be computed again wherever Catalyst moves or copies it.
    made: Column = arrow_udf(function, result).asNondeterministic()(*columns)  # type: ignore[call-overload]
    return made


def _is_exact(term: Term) -> bool:
    """Whether Catalyst gives exactly the values of `term`."""
    return all((call.function, call.operands[:1]) in _CATALYST or call.function == "ord" for call in calls_of(term))


def _is_exact_condition(condition: Comparison | Test) -> bool:
    if isinstance(condition, Test) and condition.function != "contains":
        return False
    return all(map(_is_exact, operands_of(condition)))


def _holds(condition: Comparison | Test, columns: list[Column]) -> Column:
    match condition:
        case Comparison(operator):
            return _COMPARISONS[operator](*columns)
        case Test(negated=negated):
            part, text = columns
            found = sql.contains(text, part)
            return ~found if negated else found


_COMPARISONS: dict[ComparisonOperator, Callable[[Column, Column], Column]] = {
    ComparisonOperator.EQUAL: lambda a, b: a == b,
    ComparisonOperator.NOT_EQUAL: lambda a, b: a != b,
    ComparisonOperator.LESS: lambda a, b: a < b,
    ComparisonOperator.LESS_EQUAL: lambda a, b: a <= b,
    ComparisonOperator.GREATER: lambda a, b: a > b,
    ComparisonOperator.GREATER_EQUAL: lambda a, b: a >= b,
}


def _column(term: Term, spans: tuple[Span, ...]) -> tuple[Column, list[Column]]:
    """The value of a term that Catalyst computes, null where there is none, and the reasons, the first one counts."""
    match term:
        case Variable(name):
            return sql.col(variable_column(name)), []
        case Constant(value, kind=Kind() as kind):
            return literal(value, kind), []
        case Cast(inner):
            return _column(inner, spans)
        case Call(function, arguments, span):
            columns: list[Column] = []
            reasons: list[Column] = []
            for argument in arguments:
                column, why = _column(argument, spans)
                columns.append(column)
                reasons += why
            if function == "ord":
                return sql.xxhash64(*columns), reasons
            made = _CATALYST[function, term.operands[:1]](*columns)
            if function not in TOTAL:
                reasons.append(_reason(function, columns, made, f"{spans.index(span)} "))
            return made, reasons
        case _:
            raise AssertionError(f"{term} cannot stand in a plan")


def _reason(function: str, columns: list[Column], made: Column, place: str) -> Column:
    out_of_range = sql.lit(f"{place}the result is outside the range of {Kind.NUMBER.value}")
    if function in ("/", "%"):
        return sql.when(columns[1] == 0, sql.lit(place + DIVISION_BY_ZERO)).when(made.isNull(), out_of_range)
    return sql.when(made.isNull(), out_of_range)


def _divide(left: Column, right: Column) -> Column:
    """The quotient, rounded toward zero; null for a division by zero and for the one quotient that is too large."""
    return (
        sql.when(right == 0, sql.lit(None).cast("long"))
        .when(right == -1, sql.try_subtract(sql.lit(0).cast("long"), left))
        .otherwise(sql.call_function("div", left, right))
    )


def _remainder(left: Column, right: Column) -> Column:
    """The remainder, with the sign of the dividend; null for a division by zero."""
    return (
        sql.when(right == 0, sql.lit(None).cast("long"))
        .when(right == -1, sql.lit(0).cast("long"))
        .otherwise(left % right)
    )


def _for_kinds(function: Callable[..., Column], *kinds: Kind) -> dict[tuple[Kind, ...], Callable[..., Column]]:
    return {(kind,): function for kind in kinds}


_N, _S = Kind.NUMBER, Kind.SYMBOL

_CATALYST: dict[tuple[str, tuple[Kind, ...]], Callable[..., Column]] = {
    (name, kinds): function
    for name, by_kind in {
        "+": _for_kinds(sql.try_add, _N),
        "-": _for_kinds(sql.try_subtract, _N),
        "*": _for_kinds(sql.try_multiply, _N),
        "/": _for_kinds(_divide, _N),
        "%": _for_kinds(_remainder, _N),
        "neg": _for_kinds(lambda a: sql.try_subtract(sql.lit(0).cast("long"), a), _N),
        "band": _for_kinds(lambda a, b: a.bitwiseAND(b), _N),
        "bor": _for_kinds(lambda a, b: a.bitwiseOR(b), _N),
        "bxor": _for_kinds(lambda a, b: a.bitwiseXOR(b), _N),
        "bnot": _for_kinds(sql.bitwise_not, _N),
        "min": _for_kinds(sql.least, *Kind),
        "max": _for_kinds(sql.greatest, *Kind),
        "cat": _for_kinds(lambda *texts: reduce(sql.concat, texts), _S),
        "strlen": _for_kinds(lambda text: sql.char_length(text).cast("long"), _S),
        "to_string": _for_kinds(lambda value: value.cast("string"), _N, Kind.UNSIGNED, _S),
    }.items()
    for kinds, function in by_kind.items()
}
"""What Catalyst computes as `language.functions` does, by the kind of the first operand."""
