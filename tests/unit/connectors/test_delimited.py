from __future__ import annotations

import io
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.connectors.delimited import read_delimited, write_delimited
from tidelog.connectors.delimited_careful import Layout, read_carefully
from tidelog.connectors.frames import to_rows, to_table
from tidelog.connectors.protocol import CSV, PLAIN, Options, Quoting
from tidelog.errors import InputError, OutputError
from tidelog.facts.columns import arrow_schema
from tidelog.schema import Row, Schema
from unit.connectors.schemas import DONE, EDGE, NAME, PERSON, schema

FLOATS = schema("f", x="float")
UNSIGNED = schema("u", x="unsigned")


def read(data: bytes, relation: Schema = EDGE, options: Options = PLAIN) -> list[Row]:
    table = read_delimited(data, relation, options, "edge.facts")
    assert table.schema == arrow_schema(relation)
    return to_rows(table)


def written(rows: list[Row], relation: Schema, options: Options = PLAIN) -> bytes:
    file = io.BytesIO()
    write_delimited(to_table(rows, relation), relation, options, file)
    return file.getvalue()


def refusal(data: bytes, relation: Schema = EDGE, options: Options = PLAIN) -> str:
    with pytest.raises(InputError) as caught:
        read(data, relation, options)
    return str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"1\t2\n3\t4\n",
        b"1\t2\n3\t4",
        b"1\t2\r\n3\t4\r\n",
        b"\xef\xbb\xbf1\t2\n3\t4\n",
        b"1\t2\n\n3\t4\n\n",
        b"+1\t2\n003\t 4 \n",
    ],
    ids=["plain", "no final newline", "CRLF", "byte order mark", "blank lines", "plus, zeros and spaces"],
)
def test_the_usual_spellings_of_two_rows_are_the_same_rows(data: bytes) -> None:
    assert read(data) == [(1, 2), (3, 4)]


def test_an_empty_file_has_no_rows() -> None:
    assert read(b"") == read(b"\n") == []


def test_words_that_other_readers_take_for_null_are_text() -> None:
    rows = read(b"NA\nnull\n\nNaN\n#N/A\n", NAME)
    assert rows == [("NA",), ("null",), ("",), ("NaN",), ("#N/A",)]


def test_quotes_are_part_of_the_text_in_a_plain_file() -> None:
    assert read(b'"a\nb"c"\n', NAME) == [('"a',), ('b"c"',)]


def test_a_carriage_return_inside_a_symbol_does_not_end_the_line() -> None:
    assert read(b"a\rb\nc\r\n", NAME) == [("a\rb",), ("c",)]


@pytest.mark.parametrize("delimiter", [",", "||", " ", "→", "\\"])
def test_any_text_can_be_the_delimiter(delimiter: str) -> None:
    assert read(f"1{delimiter}2\n3{delimiter}4\n".encode(), EDGE, Options(delimiter)) == [(1, 2), (3, 4)]


def test_a_quoted_field_holds_delimiters_quotes_and_line_ends() -> None:
    two = schema("t", a="symbol", b="number")
    assert read(b'"x,y",1\n"p\nq",2\n"say ""hi""",3\n', two, CSV) == [("x,y", 1), ("p\nq", 2), ('say "hi"', 3)]


def test_headers_are_skipped_when_their_names_say_nothing() -> None:
    assert read(b"from\tto\n1\t2\n", EDGE, Options(headers=True)) == [(1, 2)]


def test_headers_with_the_attributes_names_choose_the_columns() -> None:
    assert read(b"b\tnote\ta\n1\tx\t2\n", EDGE, Options(headers=True)) == [(2, 1)]


def test_the_header_of_a_quoted_file_may_end_with_any_line_end() -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        assert read(b"b,a" + end + b"1,2" + end, EDGE, replace(CSV, headers=True)) == [(2, 1)]


def test_a_nullary_relation_holds_when_its_file_has_the_empty_tuple() -> None:
    assert read(b"()\n", DONE) == [()]
    assert read(b"", DONE) == []
    assert "expected () for done()" in refusal(b"1\n", DONE)


def test_the_error_names_file_line_column_attribute_and_value() -> None:
    with pytest.raises(InputError) as caught:
        read(b"1\t2\n3\tx7\n")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("edge.facts", 2, 3)
    assert caught.value.message == ("expected a number for attribute 'b' of edge(a: number, b: number), found 'x7'")


def test_the_error_counts_fields() -> None:
    assert "edge.facts:1:1: expected 2 fields for edge(a: number, b: number), found 3" in refusal(b"1\t2\t3\n")


def test_ten_bad_lines_are_told_and_the_rest_counted() -> None:
    lines = refusal(b"1\t2\n" + b"x\t1\n" * 13).splitlines()
    assert len(lines) == 11
    assert lines[9].startswith("edge.facts:11:1: expected a number")
    assert lines[10] == "… and 3 more"


def test_bad_lines_far_apart_keep_their_line_numbers() -> None:
    data = b"1\t2\n" * 300_000 + b"3\t4x\n" + b"5\t6\n" * 300_000 + b"7\n"
    assert [line.split(" ")[0] for line in refusal(data).splitlines()] == [
        "edge.facts:300001:3:",
        "edge.facts:600002:1:",
    ]


def test_the_wrong_delimiter_is_guessed_in_the_error() -> None:
    assert 'write delimiter="," if it should be a comma' in refusal(b"1,2\n")
    assert "rfc4180=true" in refusal(b'"a,b",1\n', EDGE, Options(","))


def test_the_place_after_a_quoted_line_end_is_right() -> None:
    assert refusal(b'"1",2\n"3\n",4\n', EDGE, CSV).startswith("edge.facts:2:1: expected a number")
    assert refusal(b'"a\nbc",x\n', schema("t", a="symbol", b="number"), CSV).startswith("edge.facts:2:5:")
    assert refusal(b'1,2\n3,"4\n', EDGE, CSV) == "edge.facts:2:3: a quote is opened here and never closed"


@pytest.mark.parametrize(
    ("field", "relation", "reason"),
    [
        (b"9223372036854775808", schema("n", x="number"), "outside -9223372036854775808 … 9223372036854775807"),
        (b"-1", UNSIGNED, "outside 0 … 18446744073709551615"),
        (b"18446744073709551616", UNSIGNED, "outside 0"),
        (b"9" * 5000, UNSIGNED, "outside 0"),
        (b"0x1F", UNSIGNED, "write it in decimal"),
        (b"1_000", UNSIGNED, "found '1_000'"),
        (b"1.0", UNSIGNED, "found '1.0'"),
        ("٣".encode(), UNSIGNED, "found '٣'"),
        (b"nan", FLOATS, "NaN is never a value"),
        (b"", schema("e", x="float"), "found ''"),
        (b"\xff", NAME, "which is not UTF-8"),
    ],
)
def test_what_is_no_value_of_the_kind_is_refused(field: bytes, relation: Schema, reason: str) -> None:
    two = replace(relation, attributes=(*relation.attributes, *NAME.attributes))
    assert reason in refusal(field + b"\tz\n", two)


def test_hexadecimal_in_a_symbol_does_not_disturb_numbers_beside_it() -> None:
    two = schema("at", address="symbol", size="number")
    assert read(b"0x1F\t7\n", two) == [("0x1F", 7)]


def test_the_extremes_are_values() -> None:
    assert read(b"-9223372036854775808\t9223372036854775807\n") == [(-(2**63), 2**63 - 1)]
    assert read(b"18446744073709551615\n", UNSIGNED) == [(2**64 - 1,)]
    assert read(b"inf\n-Infinity\n1e5\n", FLOATS) == [(float("inf"),), (float("-inf"),), (100000.0,)]


def test_negative_zero_becomes_zero() -> None:
    assert str(read(b"-0.0\n", FLOATS)) == "[(0.0,)]"


def test_rows_are_written_as_souffle_writes_them() -> None:
    assert (
        written([("ann", 7, 1.5), ('b"c', 2**64 - 1, 0.1)], PERSON) == b'ann\t7\t1.5\nb"c\t18446744073709551615\t0.1\n'
    )
    assert written([()], DONE) == b"()\n"
    assert written([], EDGE, Options(headers=True)) == b"a\tb\n"


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\r"])
def test_a_symbol_that_would_break_the_line_is_not_written(text: str) -> None:
    with pytest.raises(OutputError, match="use rfc4180=true, or IO=jsonl"):
        written([(text,)], NAME)


def test_a_value_that_would_run_into_the_delimiter_is_not_written() -> None:
    with pytest.raises(OutputError, match="holds the delimiter"):
        written([("a:", 1)], schema("t", s="symbol", n="number"), Options("::"))
    with pytest.raises(OutputError, match="holds the delimiter"):
        written([(1, -2)], EDGE, Options("-"))


RECORD = schema("r", s="symbol", n="number", u="unsigned", x="float")
RECORDS = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8", exclude_characters="\ufeff")),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(0, 2**64 - 1),
        st.floats(allow_nan=False).map(lambda value: value + 0.0),
    ),
    max_size=8,
)
DIALECTS = st.builds(
    Options,
    delimiter=st.sampled_from([",", ";", "::", "\t", "é"]),
    quoting=st.just(Quoting.RFC4180),
    headers=st.booleans(),
    compress=st.just(False),
)


@given(RECORDS, DIALECTS)
def test_reading_after_writing_gives_the_same_rows(rows: list[Row], options: Options) -> None:
    assert read(written(rows, RECORD, options), RECORD, options) == rows


@given(
    st.lists(st.text(st.sampled_from('ab1+-.0x" \r\t,eé'), max_size=5), max_size=4).map("\n".join),
    st.sampled_from([schema("r", s="symbol", n="number"), schema("r", x="float"), NAME, UNSIGNED]),
    st.sampled_from([PLAIN, Options(",")]),
)
def test_the_fast_and_the_careful_reader_agree(text: str, relation: Schema, options: Options) -> None:
    data = text.encode()
    layout = Layout(relation.arity, tuple(range(relation.arity)), 0, 1)
    careful, problems = read_carefully(data, relation, options, layout, "f")
    try:
        assert read_delimited(data, relation, options, "f") == careful
        assert not problems
    except InputError:
        assert problems


def test_a_table_in_many_chunks_is_written_whole() -> None:
    table = pa.concat_tables([to_table([(1, 2)], EDGE), to_table([], EDGE), to_table([(3, 4)], EDGE)])
    file = io.BytesIO()
    write_delimited(table, EDGE, PLAIN, file)
    assert file.getvalue() == b"1\t2\n3\t4\n"
