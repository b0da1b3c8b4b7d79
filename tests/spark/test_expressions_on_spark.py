"""Terms on Spark have the values that `language.functions` gives them, whichever way they are computed."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tidelog.backends.spark.expressions import compute
from tidelog.backends.spark.jobs import Jobs, SparkSettings
from tidelog.backends.spark.layout import from_carried, variable_column
from tidelog.facts.columns import column_of, values_of
from tidelog.language.functions import FUNCTIONS, NoValue, Signature, apply
from tidelog.language.syntax_tree import Call, Variable
from tidelog.schema import Kind, Value

EDGES: dict[Kind, list[Value]] = {
    Kind.NUMBER: [-(2**63), -7, -1, 0, 1, 3, 2**62, 2**63 - 1],
    Kind.UNSIGNED: [0, 1, 3, 2**63, 2**64 - 1],
    Kind.FLOAT: [-1e308, -1.5, 0.0, 0.1, 2.0, 1e308, float("inf")],
    Kind.SYMBOL: ["", "a", "B", "é", "𝄞x", "\uffff", "12", "-0x1F", "1e3"],
}

SIGNATURES = [
    (name, signature)
    for name, function in FUNCTIONS.items()
    if name not in ("range", "ord")
    for signature in function.signatures
]


@pytest.mark.parametrize(("name", "signature"), SIGNATURES, ids=lambda part: str(part))
def test_a_function_has_its_values_and_none_where_it_has_none(
    spark: SparkSession, name: str, signature: Signature
) -> None:
    kinds = {f"x{number}": kind for number, kind in enumerate(signature.operands)}
    rows = list(itertools.product(*(EDGES[kind] for kind in signature.operands)))
    table = pa.table(
        {
            variable_column(variable): column_of(kind, [row[number] for row in rows])
            for number, (variable, kind) in enumerate(kinds.items())
        }
    )
    call = Call(name, tuple(map(Variable, kinds)), kind=signature.result, operands=signature.operands)
    computed = compute(call, kinds)
    frame = Jobs(spark, SparkSettings()).frame(table, signature.operands)
    wanted = frame.coalesce(1).select(computed.value.alias("value"))
    if computed.reason is not None:
        wanted = frame.coalesce(1).select(computed.value.alias("value"), computed.reason.alias("reason"))
    found = wanted.toArrow()
    reasons = found.column("reason").to_pylist() if computed.reason is not None else [None] * len(rows)
    expected = [value_of(name, signature, row) for row in rows]
    assert [reason is None for reason in reasons] == [value is not None for value in expected]
    has_value = pa.array([reason is None for reason in reasons])
    values = values_of(from_carried(found.select(["value"]).filter(has_value), (signature.result,)).column(0))
    assert values == [value for value in expected if value is not None]


def value_of(name: str, signature: Signature, row: tuple[Value, ...]) -> Value | None:
    try:
        return apply(name, signature.operands, signature.result, row)
    except NoValue:
        return None
