"""DataFrames as rows of a relation: what is taken, what is refused, and what an error says."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tidelog.backends.spark.arrow_frames import frame_of_table, table_of_frame
from tidelog.backends.spark.layout import spark_schema
from tidelog.backends.spark.types import parsing
from tidelog.connectors.conform import conform
from tidelog.connectors.problems import NOUNS
from tidelog.connectors.protocol import Nulls
from tidelog.errors import InputError
from tidelog.facts.columns import ARROW_TYPES, arrow_schema
from tidelog.pipeline.arrow_rows import to_arrow
from tidelog.pipeline.config import NullPolicy
from tidelog.pipeline.judge import PROBLEM, RAW, find_columns, judged, strict
from tidelog.schema import Attribute, Kind, Schema

KINDS = {kind.value: kind for kind in Kind}


def schema_of(text: str, relation: str = "r") -> Schema:
    """`schema_of("x: number, y: symbol")`."""
    pairs = [part.split(": ") for part in text.split(", ")] if text else []
    return Schema(relation, tuple(Attribute(name, type, KINDS[type]) for name, type in pairs))


def read(frame: DataFrame, schema: Schema, nulls: NullPolicy = Nulls.REFUSE) -> list[tuple[Any, ...]]:
    """The rows that a flow takes from the frame."""
    table = to_arrow(strict(judged(frame, schema, nulls=nulls)), schema)
    return list(zip(*table.to_pydict().values(), strict=True))


def problems(frame: DataFrame, schema: Schema) -> list[str | None]:
    """What is wrong with each row."""
    return judged(frame, schema, read=parsing).toArrow()[PROBLEM].to_pylist()


def one(spark: SparkSession, expression: str, kind: str) -> Any:
    """The value that a column of that Spark expression has as the kind."""
    ((value,),) = read(spark.sql(f"select {expression} x"), schema_of(f"x: {kind}"))
    return value


def test_the_spark_schema_has_no_nulls() -> None:
    found = spark_schema(schema_of("n: number, u: unsigned, f: float, s: symbol"))
    assert found.simpleString() == "struct<n:bigint,u:decimal(20,0),f:double,s:string>"
    assert not any(field.nullable for field in found)


NEW_YORK = "America/New_York"


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK])
def test_every_type_is_read_the_same_in_every_time_zone(spark: SparkSession, zone: str) -> None:
    cases: list[tuple[str, str, Any]] = [
        ("tinyint(-5)", "number", -5),
        ("9223372036854775807L", "number", 2**63 - 1),
        ("true", "number", 1),
        ("true", "symbol", "true"),
        ("cast('18446744073709551615' as decimal(20,0))", "unsigned", 2**64 - 1),
        ("7", "unsigned", 7),
        ("double('1152921504606846976')", "unsigned", 2**60),
        ("double('1.8446744073709550E19')", "unsigned", 18446744073709549568),
        ("double('-9223372036854775808')", "number", -(2**63)),
        ("cast(-12.00 as decimal(38,30))", "number", -12),
        ("cast('-9223372036854775808' as decimal(38,19))", "number", -(2**63)),
        ("9007199254740992L", "float", 2.0**53),
        ("float('0.1')", "float", 0.10000000149011612),
        ("double('-Infinity')", "float", float("-inf")),
        ("12.5", "float", 12.5),
        ("X'c3a9'", "symbol", "é"),
        ("date'2024-02-29'", "symbol", "2024-02-29"),
        ("date'1969-12-31'", "number", -1),
        ("timestamp'2024-11-03 05:30:00.000001Z'", "symbol", "2024-11-03T05:30:00.000001Z"),
        ("timestamp'1969-12-31 23:59:59.5Z'", "symbol", "1969-12-31T23:59:59.500000Z"),
        ("timestamp'1969-12-31 23:59:59.5Z'", "number", -500_000),
        ("timestamp_ntz'2024-03-10 02:30:00.25'", "symbol", "2024-03-10T02:30:00.250000"),
        ("timestamp_ntz'2024-03-10 02:30:00.25'", "number", 1_710_037_800_250_000),
        ("timestamp_ntz'1900-01-01 00:00:00'", "symbol", "1900-01-01T00:00:00.000000"),
    ]
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.sql("select " + ", ".join(f"{text} c{place}" for place, (text, _, _) in enumerate(cases)))
        schema = schema_of(", ".join(f"c{place}: {kind}" for place, (_, kind, _) in enumerate(cases)))
        assert read(frame, schema) == [tuple(value for _, _, value in cases)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_negative_zero_is_zero(spark: SparkSession) -> None:
    assert str(one(spark, "double('-0.0')", "float")) == "0.0"


def test_a_collation_is_left_behind(spark: SparkSession) -> None:
    frame = spark.sql("select collate(c, 'UTF8_LCASE') s from values ('a'), ('A') t(c)")
    assert strict(judged(frame, schema_of("s: symbol"))).distinct().count() == 2


@pytest.mark.parametrize(
    ("expression", "kind", "found"),
    [
        ("-1", "unsigned", "-1"),
        ("1.5D", "number", "1.5"),
        ("double('NaN')", "float", "NaN"),
        ("double('NaN')", "number", "NaN"),
        ("float('Infinity')", "number", "Infinity"),
        ("double('9223372036854775808')", "number", "9.223372036854776E18"),
        ("cast('9223372036854775808' as decimal(20,0))", "number", "9223372036854775808"),
        ("cast('18446744073709551616' as decimal(38,0))", "unsigned", "18446744073709551616"),
        ("-0.5", "unsigned", "-0.5"),
        ("9007199254740993L", "float", "9007199254740993"),
        ("X'ff00'", "symbol", "bytes that are no UTF-8, FF00"),
    ],
)
def test_a_value_that_is_none_of_the_kind_is_shown(spark: SparkSession, expression: str, kind: str, found: str) -> None:
    with pytest.raises(InputError, match=rf"for attribute 'x' of r\(x: {kind}\), found {found}$"):
        one(spark, expression, kind)


@pytest.mark.parametrize(
    ("expression", "kind", "words"),
    [
        (
            "'1'",
            "number",
            "the column 'x' of string\n  hint: nothing is parsed from text: cast the column to big",
        ),
        ("1", "symbol", "the column 'x' of int\n  hint: nothing is printed to text"),
        ("true", "float", "declare a number .0 or 1. or a symbol"),
        ("date'2024-01-01'", "float", "declare a symbol, which holds it in ISO form"),
        ("array(1)", "number", "the column 'x' of array<int>\n  hint: take it apart"),
    ],
)
def test_a_type_that_is_none_of_the_kind_is_named_with_advice(
    spark: SparkSession, expression: str, kind: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        one(spark, expression, kind)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (" 12 ", "number", 12),
        ("+18446744073709551615", "unsigned", 2**64 - 1),
        ("1e3", "float", 1000.0),
        ("-0.0", "float", 0.0),
        ("1.5", "number", None),
        ("18446744073709551616", "unsigned", None),
        ("-1", "unsigned", None),
        ("NaN", "float", None),
        ("", "number", None),
    ],
)
def test_numbers_are_read_out_of_text_where_that_is_asked_for(
    spark: SparkSession, text: str, kind: str, value: float | None
) -> None:
    schema = schema_of(f"x: {kind}")
    row = judged(spark.createDataFrame([(text,)], "x string"), schema, read=parsing).toArrow().to_pylist()[0]
    problem = f"expected {NOUNS[KINDS[kind]]} for attribute 'x' of {schema}, found '{text}'"
    assert (row["x"], row[PROBLEM]) == ((value, None) if value is not None else (None, problem))
    assert row[RAW] == json.dumps({"x": text}, separators=(",", ":"))


def test_a_bad_row_names_its_file_among_several(spark: SparkSession, tmp_path: Path) -> None:
    for name, text in (("one.csv", "1\n"), ("two.csv", "2\nx\n")):
        (tmp_path / name).write_text(text)
    rows = judged(spark.read.schema("x string").csv(str(tmp_path)), schema_of("x: number"), read=parsing)
    with pytest.raises(InputError) as raised:
        to_arrow(strict(rows, str(tmp_path)), schema_of("x: number"))
    assert str(raised.value) == (f"{tmp_path}/two.csv: expected a number for attribute 'x' of r(x: number), found 'x'")


def test_rows_that_are_in_no_file_name_their_source(spark: SparkSession) -> None:
    rows = judged(spark.sql("select 1.5D x"), schema_of("x: number"))
    with pytest.raises(InputError, match=r"^people: expected a number"):
        to_arrow(strict(rows, "people"), schema_of("x: number"))


PEOPLE = "name string, age int"


def test_rows_with_null_can_be_skipped(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Ann", 41), ("Bob", None), (None, 3)], PEOPLE)
    assert read(frame, schema_of("name: symbol, age: number"), Nulls.SKIP) == [("Ann", 41)]


def test_null_in_a_column_that_is_not_taken_does_not_matter(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Ann", None)], PEOPLE)
    assert read(frame, schema_of("name: symbol")) == [("Ann",)]


def test_a_value_can_stand_for_null(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Bob", None), (None, 3)], PEOPLE)
    found = read(frame, schema_of("name: symbol, age: unsigned"), {"name": "?", "age": 2**64 - 1})
    assert found == [("Bob", 2**64 - 1), ("?", 3)]


def test_where_no_value_stands_for_it_null_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Bob", None), (None, 3)], PEOPLE)
    with pytest.raises(InputError, match=r"attribute 'age'.*found NULL$"):
        read(frame, schema_of("name: symbol, age: number"), {"name": "?"})


def test_a_bad_value_is_no_missing_one(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Bob", 0.5)], "name string, age double")
    with pytest.raises(InputError, match=r"found 0.5$"):
        read(frame, schema_of("name: symbol, age: number"), Nulls.SKIP)


@pytest.mark.parametrize(
    ("found", "positions"),
    [
        (["dst", "src"], [1, 0]),
        (["DST", "Src"], [1, 0]),
        (["src", "SRC", "dst"], [0, 2]),
        (["a", "b"], [0, 1]),
    ],
)
def test_columns_are_found_by_name_then_by_position(found: list[str], positions: list[int]) -> None:
    assert list(find_columns(["src", "dst"], found)) == positions


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("1 dst, 2 source", "needs the column 'src', found dst, source\n  hint: did you mean 'source'"),
        ("1 src", "needs the column 'dst', found src\n  hint: Rename it there"),
        ("1 src, 2 src, 3 dst", "needs one column 'src', found src, src, dst"),
    ],
)
def test_columns_that_would_be_guessed_are_refused(spark: SparkSession, found: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        judged(spark.sql(f"select {found}"), schema_of("src: number, dst: number"))


def test_columns_may_have_other_names_and_dots_in_them(spark: SparkSession) -> None:
    frame = spark.sql("select 1 `to.node`, 2 from_node, '+' op")
    schema = schema_of("src: number, dst: number")
    rows = judged(frame, schema, columns={"src": "from_node", "dst": "to.node"}, extra=["op"]).toArrow()
    assert rows.select(["src", "dst", "op"]).to_pylist() == [{"src": 2, "dst": 1, "op": "+"}]
    assert json.loads(rows[RAW][0].as_py()) == {"src": 2, "dst": 1, "op": "+"}
    with pytest.raises(InputError, match=r"needs the column 'from', found to\.node, from_node"):
        judged(frame, schema, columns={"src": "from"}, extra=["op"])
    with pytest.raises(InputError, match="needs the column 'operation'"):
        judged(frame, schema, columns={"src": "from_node", "dst": "to.node"}, extra=["operation"])


def test_a_relation_without_attributes_keeps_count(spark: SparkSession) -> None:
    nothing = schema_of("")
    assert to_arrow(strict(judged(spark.range(3), nothing)), nothing).num_rows == 3
    assert table_of_frame(frame_of_table(spark, pa.table({"": pa.nulls(2)}).select([]), nothing), nothing).num_rows == 2


EVERY_KIND = schema_of("n: number, u: unsigned, f: float, s: symbol")


def every_kind() -> pa.Table:
    columns = [[-(2**63), 7], [2**64 - 1, 0], [float("inf"), 0.5], ["é\t\0", ""]]
    arrays = [pa.array(column, ARROW_TYPES[kind]) for column, kind in zip(columns, EVERY_KIND.kinds, strict=True)]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(EVERY_KIND))


def test_a_table_comes_back_from_spark_as_it_went(spark: SparkSession) -> None:
    frame = frame_of_table(spark, every_kind(), EVERY_KIND)
    assert frame.schema == spark_schema(EVERY_KIND)
    assert table_of_frame(frame, EVERY_KIND).equals(every_kind())


def test_a_frame_without_rows_is_a_table_without_rows(spark: SparkSession) -> None:
    empty = every_kind().slice(0, 0)
    assert table_of_frame(frame_of_table(spark, empty, EVERY_KIND), EVERY_KIND).equals(empty)


EDGES: dict[pa.DataType, list[Any]] = {
    pa.float64(): [0.0, -0.0, 0.5, -1.0, 2.0**53, 2.0**62, -(2.0**63), 2.0**63, 2.0**64, 1e300, float("inf")],
    pa.int64(): [0, -1, 2**53, -(2**53), 2**53 + 1, 2**63 - 1, -(2**63)],
    pa.decimal128(38, 2): [Decimal("0.50"), Decimal(-1), Decimal(2**63), Decimal(2**64 - 1), Decimal(2**64)],
}


@pytest.mark.parametrize("kind", ["number", "unsigned", "float"])
@pytest.mark.parametrize("type", EDGES, ids=str)
def test_numbers_are_taken_and_refused_as_by_the_local_connectors(
    spark: SparkSession, type: pa.DataType, kind: str
) -> None:
    schema = schema_of(f"x: {kind}")
    column = pa.table({"x": pa.array(EDGES[type], type)})
    rows = judged(spark.createDataFrame(column), schema)
    fitting = to_arrow(strict(rows.where(f"`{PROBLEM}` is null")), schema)
    expected = [value for place in range(len(column)) for value in taken_locally(column.slice(place, 1), schema)]
    assert sorted(map(repr, fitting["x"].to_pylist())) == sorted(map(repr, expected))


def taken_locally(table: pa.Table, schema: Schema) -> list[Any]:
    """The values that the connectors of the local engine make of the table; none when they refuse it."""
    try:
        return conform(table, schema)["x"].to_pylist()
    except InputError:
        return []


def test_frames_are_judged_through_connect(connected: SparkSession) -> None:
    frame = connected.sql("select timestamp_ntz'2024-03-10 02:30:00' t, 1.0D n union all select null, 2.0D")
    schema = schema_of("t: symbol, n: unsigned")
    with pytest.raises(InputError, match=r"attribute 't'.*found NULL$"):
        read(frame, schema)
    assert read(frame, schema, Nulls.SKIP) == [("2024-03-10T02:30:00.000000", 1)]
    assert [str(problem)[-10:] for problem in problems(frame, schema)] == ["None", "found NULL"]


def test_tables_go_in_and_out_through_connect(connected: SparkSession) -> None:
    assert table_of_frame(frame_of_table(connected, every_kind(), EVERY_KIND), EVERY_KIND).equals(every_kind())
