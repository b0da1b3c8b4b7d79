from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidelog.connectors.frames import to_rows, to_table
from tidelog.connectors.protocol import JsonShape, Nulls, Options, open_sink, open_source
from tidelog.errors import InputError, OutputError, UsageError
from tidelog.facts.columns import arrow_schema
from tidelog.schema import Row, Schema
from unit.connectors.schemas import DONE, EDGE, PERSON, schema

PEOPLE: list[Row] = [("ann", 2**63 - 1, 1.5), ('q"\n\té', 0, float("-inf"))]


def read(path: Path, relation: Schema = EDGE, options: Options | None = None) -> list[Row]:
    table = open_source(path, options or Options()).read(relation)
    assert table.schema == arrow_schema(relation)
    return to_rows(table)


def refusal(path: Path, relation: Schema = EDGE) -> str:
    with pytest.raises(InputError) as caught:
        read(path, relation)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson", ".parquet", ".sqlite", ".db"])
def test_every_format_reads_what_it_wrote(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"person{suffix}"
    open_sink(path).write(to_table(PEOPLE, PERSON), PERSON)
    assert read(path, PERSON) == PEOPLE


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl"])
def test_a_nullary_relation_survives_a_file(tmp_path: Path, suffix: str) -> None:
    for rows in ([()], []):
        path = tmp_path / f"done{len(rows)}{suffix}"
        open_sink(path).write(to_table(rows, DONE), DONE)
        assert read(path, DONE) == rows


@pytest.mark.parametrize("suffix", [".csv.gz", ".json.gz", ".jsonl.gz"])
def test_packed_files_are_packed_and_looked_through(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"edge{suffix}"
    open_sink(path, Options(compress=True)).write(to_table([(1, 2)], EDGE), EDGE)
    assert gzip.decompress(path.read_bytes())
    assert read(path) == [(1, 2)]


def test_damaged_gzip_is_an_error_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "edge.csv.gz"
    path.write_bytes(gzip.compress(b"1\t2\n")[:-5])
    assert refusal(path).startswith(f"{path}: the gzip data is damaged")


def test_a_suffix_nobody_knows_lists_those_that_are_known() -> None:
    with pytest.raises(UsageError, match=r"'edge.xml': unknown kind of file; expected one of .facts"):
        open_source(Path("edge.xml"))


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    for name in ("edge.facts", "edge.jsonl", "edge.parquet", "edge.db"):
        assert str(tmp_path / name) in refusal(tmp_path / name)


def test_json_lines_are_objects_or_arrays(tmp_path: Path) -> None:
    path = tmp_path / "edge.jsonl"
    path.write_text('{"b": 2, "a": 1, "c": null}\n\n[3, 4]\n')
    assert read(path) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":2:2: not JSON"),
        ('{"a": 1}', ":2: 'b' is missing"),
        ("[1, true]", ":2: expected a number for attribute 'b'"),
        ("[1, 2.0]", "found 2.0"),
        ("[1, null]", "found NULL"),
        ('[1, "2"]', "found '2'"),
        ("[1, NaN]", "NaN is no JSON value"),
        ("[1]", "expected 2 fields"),
        ("7", "expected a row of 2 fields"),
    ],
)
def test_a_bad_json_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "edge.jsonl"
    path.write_text(f"[1, 2]\n{line}\n")
    assert message in refusal(path)


def test_json_shapes_are_as_asked(tmp_path: Path) -> None:
    rows = to_table([(1, 2)], EDGE)
    for suffix, shape, text in [
        (".jsonl", None, '{"a":1,"b":2}\n'),
        (".jsonl", JsonShape.LIST, "[1,2]\n"),
        (".json", None, "[\n[1,2]\n]\n"),
        (".json", JsonShape.OBJECT, '[\n{"a":1,"b":2}\n]\n'),
    ]:
        path = tmp_path / f"edge{suffix}"
        open_sink(path, Options(shape=shape)).write(rows, EDGE)
        assert path.read_text() == text


def test_a_json_document_that_is_no_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edge.json"
    path.write_text('{"a": 1, "b": 2}')
    assert "expected an array of rows" in refusal(path)
    path.write_text("[[1, 2],\n [3 4]]")
    assert refusal(path).startswith(f"{path}:2:5: not JSON")


def test_parquet_columns_go_by_name_then_by_position(tmp_path: Path) -> None:
    path = tmp_path / "edge.parquet"
    pq.write_table(pa.table({"b": [2], "x": ["?"], "a": [1]}), path)
    assert read(path) == [(1, 2)]
    pq.write_table(pa.table({"from": [1], "to": [2]}), path)
    assert read(path) == [(1, 2)]
    pq.write_table(pa.table({"from": [1], "b": [2], "c": [3]}), path)
    assert "needs 2 columns, found 3 (from, b, c); missing: 'a'" in refusal(path)


def test_parquet_values_that_do_not_fit_are_named_with_their_row(tmp_path: Path) -> None:
    path = tmp_path / "edge.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3], "b": [1.0, 2.0, 2.5]}), path)
    assert "row 3: expected a number for attribute 'b' of edge(a: number, b: number), found 2.5" in refusal(path)
    pq.write_table(pa.table({"a": [1, None, None], "b": [1, 2, 3]}), path)
    assert "row 2: expected a number for attribute 'a'" in refusal(path)
    assert read(path, options=Options(nulls=Nulls.SKIP)) == [(1, 1)]
    path.write_bytes(b"not parquet at all")
    assert "cannot be read as Parquet" in refusal(path)


def test_sqlite_reads_tables_and_views_by_name(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "strange ""name" (b INTEGER, a INTEGER, note TEXT)')
        connection.execute('INSERT INTO "strange ""name" VALUES (2, 1, NULL)')
        connection.execute('CREATE VIEW edge AS SELECT a, b FROM "strange ""name"')
    assert read(path) == [(1, 2)]
    assert read(path, options=Options(table='strange "name')) == [(1, 2)]
    with pytest.raises(InputError, match="there is no table 'nodes'; there are edge, strange"):
        read(path, options=Options(table="nodes"))


def test_sqlite_values_that_do_not_fit_are_named(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE edge (a, b)")
        connection.executemany("INSERT INTO edge VALUES (?, ?)", [(1, 2), (1, "x")])
    assert "table edge: row 2: expected a number for attribute 'b'" in refusal(path)
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    assert "cannot be read: file is not a database" in refusal(path)


def test_sqlite_replaces_one_table_and_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    other = schema("other", x="symbol")
    open_sink(path).write(to_table(["kept"], other), other)
    open_sink(path).write(to_table([(1, 2)], EDGE), EDGE)
    open_sink(path).write(to_table([(3, 4)], EDGE), EDGE)
    assert read(path) == [(3, 4)]
    assert read(path, other) == [("kept",)]


def test_sqlite_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    big = schema("big", x="unsigned")
    with pytest.raises(OutputError, match="SQLite's integers cannot hold"):
        open_sink(tmp_path / "new.db").write(to_table([2**63], big), big)
    with pytest.raises(OutputError, match="no tables without columns"):
        open_sink(tmp_path / "new.db").write(to_table([()], DONE), DONE)
    assert not (tmp_path / "new.db").exists()


def test_parquet_refuses_rows_without_columns(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="Parquet does not count rows without columns"):
        open_sink(tmp_path / "done.parquet").write(to_table([()], DONE), DONE)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8")),
            st.integers(0, 2**63 - 1),
            st.floats(allow_nan=False).map(lambda value: value + 0.0),
        ),
        max_size=6,
    ),
    st.sampled_from([".json", ".jsonl", ".parquet", ".db"]),
)
def test_any_value_survives_every_format(tmp_path: Path, rows: list[Row], suffix: str) -> None:
    path = tmp_path / f"person{suffix}"
    open_sink(path).write(to_table(rows, PERSON), PERSON)
    assert read(path, PERSON) == rows
