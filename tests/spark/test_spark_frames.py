"""DataFrames in and out: what is taken, what is refused, and what an error says."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from tidelog.backends.spark.arrow_frames import frame_of_table, table_of_frame
from tidelog.backends.spark.frames import Nulls, find_columns, read_frame, split_frame, write_frame
from tidelog.backends.spark.types import relation_schema, spark_schema
from tidelog.connectors.conform import conform
from tidelog.errors import InputError, OutputError, UsageError
from tidelog.facts.columns import ARROW_TYPES, arrow_schema
from tidelog.schema import Attribute, Kind, Schema

KINDS = {kind.value: kind for kind in Kind}


def schema_of(text: str, relation: str = "r") -> Schema:
    """`schema_of("x: number, y: symbol")`."""
    pairs = [part.split(": ") for part in text.split(", ")] if text else []
    return Schema(relation, tuple(Attribute(name, type, KINDS[type]) for name, type in pairs))


def values(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def one(spark: SparkSession, expression: str, kind: str) -> Any:
    """The value that a column of that Spark expression has as the kind."""
    ((value,),) = values(read_frame(spark.sql(f"select {expression} x"), schema_of(f"x: {kind}")))
    return value


def test_the_spark_schema_has_no_nulls() -> None:
    found = spark_schema(schema_of("n: number, u: unsigned, f: float, s: symbol"))
    assert found.simpleString() == "struct<n:bigint,u:decimal(20,0),f:double,s:string>"
    assert not any(field.nullable for field in found)


def test_a_relation_for_a_frame_takes_each_column_in_its_natural_kind(spark: SparkSession) -> None:
    frame = spark.sql("select 1 i, true b, 1.5D d, 'x' s, date'2024-01-01' t, 1.25 m, cast(1 as decimal(20,0)) u")
    assert str(relation_schema("r", frame.schema)) == (
        "r(i: number, b: number, d: float, s: symbol, t: symbol, m: float, u: unsigned)"
    )
    assert read_frame(frame, relation_schema("r", frame.schema)).count() == 1


def test_a_column_without_a_kind_or_a_name_is_named(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="column 'a' for r is array<int>: take it apart"):
        relation_schema("r", spark.sql("select array(1) a").schema)
    with pytest.raises(InputError, match="column 'a b' for r: rename it"):
        relation_schema("r", spark.sql("select 1 `a b`").schema)


NEW_YORK = "America/New_York"


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK])
def test_every_type_is_read_the_same_in_every_time_zone(spark: SparkSession, zone: str) -> None:
    cases: list[tuple[str, str, Any]] = [
        ("tinyint(-5)", "number", -5),
        ("9223372036854775807L", "number", 2**63 - 1),
        ("true", "number", 1),
        ("true", "symbol", "true"),
        ("cast('18446744073709551615' as decimal(20,0))", "unsigned", Decimal(2**64 - 1)),
        ("7", "unsigned", Decimal(7)),
        ("double('1152921504606846976')", "unsigned", Decimal(2**60)),
        ("double('1.8446744073709550E19')", "unsigned", Decimal(18446744073709549568)),
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
        read = read_frame(frame, schema)
        assert values(read) == [tuple(value for _, _, value in cases)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_negative_zero_is_zero(spark: SparkSession) -> None:
    assert str(one(spark, "double('-0.0')", "float")) == "0.0"


def test_a_collation_is_left_behind(spark: SparkSession) -> None:
    frame = spark.sql("select collate(c, 'UTF8_LCASE') s from values ('a'), ('A') t(c)")
    assert read_frame(frame, schema_of("s: symbol")).distinct().count() == 2


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
    with pytest.raises(InputError, match=rf"for attribute 'x' of r\(x: {kind}\), found {found} in 1 row"):
        one(spark, expression, kind)


@pytest.mark.parametrize(
    ("expression", "kind", "words"),
    [
        ("'1'", "number", "column 'x' of string; nothing is parsed from text: cast the column to bigint first"),
        ("1", "symbol", "column 'x' of int; nothing is printed to text"),
        ("true", "float", "declare a number .0 or 1. or a symbol"),
        ("date'2024-01-01'", "float", "declare a symbol, which holds it in ISO form"),
        ("array(1)", "number", "column 'x' of array<int>; take it apart"),
    ],
)
def test_a_type_that_is_none_of_the_kind_is_named_with_advice(
    spark: SparkSession, expression: str, kind: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        one(spark, expression, kind)


def test_all_problems_are_told_at_once_with_their_source(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(None, 0.5), (None, 1.0), (3, 2.5)], "a int, b double")
    with pytest.raises(InputError) as raised:
        read_frame(frame, schema_of("a: number, b: number"), source="lake/r")
    assert raised.value.file == "lake/r"
    assert "'a' of r(a: number, b: number), found NULL in 2 rows; skip such rows or" in str(raised.value)
    assert "'b' of r(a: number, b: number), found 0.5 in 2 rows" in str(raised.value)


PEOPLE = "name string, age int"


def test_rows_with_null_can_be_skipped(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Ann", 41), ("Bob", None), (None, 3)], PEOPLE)
    assert values(read_frame(frame, schema_of("name: symbol, age: number"), nulls=Nulls.SKIP)) == [("Ann", 41)]


def test_null_in_a_column_that_is_not_taken_does_not_matter(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Ann", None)], PEOPLE)
    assert values(read_frame(frame, schema_of("name: symbol"))) == [("Ann",)]


def test_a_value_can_stand_for_null(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Bob", None), (None, 3)], PEOPLE)
    read = read_frame(frame, schema_of("name: symbol, age: unsigned"), nulls={"name": "?", "age": 2**64 - 1})
    assert values(read) == [("Bob", Decimal(2**64 - 1)), ("?", Decimal(3))]


def test_where_no_value_stands_for_it_null_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Bob", None), (None, 3)], PEOPLE)
    with pytest.raises(InputError, match=r"attribute 'age'.*found NULL in 1 row"):
        read_frame(frame, schema_of("name: symbol, age: number"), nulls={"name": "?"})


@pytest.mark.parametrize(
    ("nulls", "words"),
    [
        ({"nmae": ""}, "nulls: r.* has no attribute 'nmae'"),
        ({"age": "none"}, "'none' is not a number"),
        ({"age": 2**63}, "is not a number"),
        ({"age": True}, "True is not a number"),
    ],
)
def test_a_value_for_null_must_be_one_of_the_attribute(
    spark: SparkSession, nulls: dict[str, str | int], words: str
) -> None:
    frame = spark.createDataFrame([("Bob", None)], PEOPLE)
    with pytest.raises(UsageError, match=words):
        read_frame(frame, schema_of("name: symbol, age: number"), nulls=nulls)


def test_a_frame_whose_types_say_that_all_fits_costs_no_job(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.range(3).selectExpr("id", "'x' s")
    monkeypatch.setattr(type(frame), "collect", lambda _frame: pytest.fail("a job ran"))
    assert read_frame(frame, schema_of("id: number, s: symbol")).columns == ["id", "s"]


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
    assert list(find_columns(["src", "dst"], found, schema_of("src: number, dst: number"))) == positions


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (["dst", "source"], r"missing: 'src'.*columns="),
        (["src"], r"needs 2 columns, found 1 \(src\); missing: 'dst'"),
        (["src", "src", "dst"], "there are 2 columns named 'src'"),
    ],
)
def test_columns_that_would_be_guessed_are_refused(found: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        find_columns(["src", "dst"], found, schema_of("src: number, dst: number"))


def test_columns_may_have_other_names_and_dots_in_them(spark: SparkSession) -> None:
    frame = spark.sql("select 1 `to.node`, 2 from_node")
    assert values(read_frame(frame, schema_of("src: number, dst: number"), columns=["from_node", "to.node"])) == [
        (2, 1)
    ]
    with pytest.raises(UsageError, match="columns has 1 name"):
        read_frame(frame, schema_of("src: number, dst: number"), columns=["from_node"])


def test_rows_that_do_not_fit_can_be_split_off(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("Ann", 1.0), ("Bob", 1.5), (None, 2.0)], "name string, `age.now` double")
    fitting, others = split_frame(frame, schema_of("name: symbol, age: number"), columns=["name", "age.now"])
    assert values(fitting) == [("Ann", 1)]
    assert others.columns == ["name", "age.now", "problem"]
    bob, nameless = others.collect()
    assert bob[:2] == ("Bob", 1.5)
    assert bob.problem == "expected a number for attribute 'age' of r(name: symbol, age: number), found 1.5"
    assert nameless.problem.endswith("found NULL")


def test_a_relation_without_attributes_keeps_count(spark: SparkSession) -> None:
    nothing = schema_of("")
    read = read_frame(spark.range(3), nothing)
    assert table_of_frame(read, nothing).num_rows == 3
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


def test_names_and_types_are_given_on_the_way_out(spark: SparkSession) -> None:
    schema = schema_of("d: number, t: number, b: number, i: unsigned, day: symbol, time: symbol, f: float")
    row = (19_782, -500_000, 1, 5, "2024-02-29", "2024-11-03T05:30:00.000001Z", 0.5)
    frame = read_frame(
        spark.createDataFrame([row], "d long, t long, b long, i long, day string, time string, f double"), schema
    )
    types = {
        "d": "date",
        "t": "timestamp",
        "b": "boolean",
        "i": "int",
        "day": "date",
        "time": "timestamp",
        "f": "float",
    }
    written = write_frame(frame, schema, columns=[f"{name}.out" for name in schema.names], types=types)
    assert written.columns[0] == "d.out"
    assert [field.dataType.simpleString() for field in written.schema] == [types[name] for name in schema.names]
    assert read_frame(written, schema, columns=written.columns).collect() == frame.collect()


def test_what_a_frame_holds_goes_out_as_it_came(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [Row(d=date(1999, 12, 31), t=datetime(2024, 3, 10, 2, 30), n=5)], "d date, t timestamp, n short"
    )
    schema = relation_schema("r", frame.schema)
    types = {field.name: field.dataType for field in frame.schema}
    assert write_frame(read_frame(frame, schema), schema, types=types).collect() == frame.collect()


@pytest.mark.parametrize(
    ("kind", "value", "type", "words"),
    [
        ("number", 300, "tinyint", "tinyint cannot hold attribute 'x' of r.*found 300 in 1 row"),
        ("number", 2, "boolean", "found 2 in 1 row"),
        ("unsigned", 2**63, "bigint", "found 9223372036854775808 in 1 row"),
        ("float", 0.1, "float", "found 0.1 in 1 row"),
        ("symbol", "soon", "date", "date cannot hold attribute 'x' of r.*found soon in 1 row"),
    ],
)
def test_a_value_that_the_wanted_type_has_not_is_an_error(
    spark: SparkSession, kind: str, value: int | float | str, type: str, words: str
) -> None:
    schema = schema_of(f"x: {kind}")
    table = pa.Table.from_arrays([pa.array([value], ARROW_TYPES[KINDS[kind]])], schema=arrow_schema(schema))
    with pytest.raises(OutputError, match=words):
        write_frame(frame_of_table(spark, table, schema), schema, types={"x": type})


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ({"y": "int"}, "types: r.* has no attribute 'y'"),
        ({"x": "integre"}, "'integre' for 'x' is no Spark type"),
        ({"x": "array<int>"}, "array<int> cannot hold attribute 'x'"),
    ],
)
def test_a_type_that_cannot_be_is_refused(spark: SparkSession, types: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        write_frame(spark.sql("select 1L x"), schema_of("x: number"), types=types)


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
    fitting, _ = split_frame(spark.createDataFrame(column), schema)
    expected = [value for place in range(len(column)) for value in taken_locally(column.slice(place, 1), schema)]
    assert sorted(map(repr, table_of_frame(fitting, schema)["x"].to_pylist())) == sorted(map(repr, expected))


def taken_locally(table: pa.Table, schema: Schema) -> list[Any]:
    """The values that the connectors of the local engine make of the table; none when they refuse it."""
    try:
        return conform(table, schema)["x"].to_pylist()
    except InputError:
        return []


def test_frames_go_in_and_out_through_connect(connected: SparkSession) -> None:
    frame = connected.sql("select timestamp_ntz'2024-03-10 02:30:00' t, 1.0D n union all select null, 2.0D")
    schema = schema_of("t: symbol, n: unsigned")
    with pytest.raises(InputError, match=r"attribute 't'.*found NULL in 1 row"):
        read_frame(frame, schema)
    fitting, others = split_frame(frame, schema)
    assert values(fitting) == [("2024-03-10T02:30:00.000000", Decimal(1))]
    assert [row.problem[-10:] for row in others.collect()] == ["found NULL"]
    written = write_frame(read_frame(frame, schema, nulls=Nulls.SKIP), schema, types={"n": "int", "t": "timestamp_ntz"})
    assert values(written) == [(datetime(2024, 3, 10, 2, 30), 1)]
    assert relation_schema("r", frame.schema).names == ("t", "n")


def test_tables_go_in_and_out_through_connect(connected: SparkSession) -> None:
    assert table_of_frame(frame_of_table(connected, every_kind(), EVERY_KIND), EVERY_KIND).equals(every_kind())
