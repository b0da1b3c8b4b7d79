"""How rows of changes are compared, netted and put together."""

from __future__ import annotations

import pytest

from tidelog.connectors.python_rows import nullary, rows_of, table_of_rows
from tidelog.facts import change
from tidelog.facts.change import (
    Change,
    LaterTables,
    Outcome,
    difference,
    distinct,
    in_sequence,
    net_change,
    net_delta,
    row_count,
    union,
)
from tidelog.schema import Attribute, Kind, Row, Schema

SCHEMA = Schema("p", (Attribute("n", "number", Kind.NUMBER), Attribute("s", "symbol", Kind.SYMBOL)))


def table(*numbers: int):
    return table_of_rows([(number, "abc"[number % 3]) for number in numbers], SCHEMA)


def numbers(rows) -> list[int]:
    return sorted(row[0] for row in rows_of(rows))


@pytest.fixture(params=[0, 1000], ids=["arrow", "python"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to compare rows."""
    monkeypatch.setattr(change, "FEW", request.param)


@pytest.mark.usefixtures("few")
def test_rows_are_a_set() -> None:
    assert numbers(distinct(table(1, 2, 1))) == [1, 2]
    assert numbers(difference(table(1, 2, 3, 3), table(2, 4))) == [1, 3]
    assert numbers(difference(table(1, 2), table(2, 1))) == []
    assert numbers(union(table(1, 2), table(2, 3))) == [1, 2, 3]
    assert difference(table(1, 2), table(2)).schema.equals(table().schema)


def test_rows_without_columns_are_a_set_too() -> None:
    assert distinct(nullary(3)).num_rows == 1
    assert difference(nullary(1), nullary(1)).num_rows == 0
    assert difference(nullary(1), nullary(0)).num_rows == 1
    assert union(nullary(0), nullary(1)).num_rows == 1
    assert union(nullary(1), nullary(1)).num_rows == 1


def test_an_insertion_outweighs_the_retraction_of_the_same_fact() -> None:
    net = net_change(Change({"p": table(1, 2)}, {"p": table(2, 3), "q": table(2)}))
    assert numbers(net.inserted["p"]) == [1, 2]
    assert numbers(net.retracted["p"]) == [3]
    assert numbers(net.retracted["q"]) == [2]


@pytest.mark.usefixtures("few")
def test_what_came_and_went_again_is_in_no_net_delta() -> None:
    first = Outcome({"p": table(1, 2)}, {"p": table(3)}, {"p": net_delta(table(1, 2), table(3))})
    second = Outcome(
        {"p": table(3)}, {"p": table(2, 4)}, {"p": net_delta(table(3), table(2, 4)), "q": net_delta(table(9), table())}
    )
    both = in_sequence([first, second])
    assert numbers(both.inserted["p"]) == [1]
    assert numbers(both.retracted["p"]) == [4]
    assert (both.deltas["p"].appeared_count, both.deltas["p"].vanished_count) == (1, 1)
    assert numbers(both.deltas["q"].appeared()) == [9]


def test_a_way_and_the_way_back_are_nothing() -> None:
    there = Outcome({"p": table(1)}, {"p": table(2)}, {"p": net_delta(table(1), table(2))})
    back = Outcome({"p": table(2)}, {"p": table(1)}, {"p": net_delta(table(2), table(1))})
    assert in_sequence([there, back]) == Outcome({}, {}, {})
    assert in_sequence([]) == Outcome()


def test_tables_that_come_later_are_counted_without_being_made_and_made_once() -> None:
    made: list[str] = []

    def read(relation: str, facts: list[int]):
        made.append(relation)
        return table(*facts)

    tables = LaterTables({"a": [1, 2], "b": [3]}, read)
    assert row_count(tables) == 3
    assert list(tables) == ["a", "b"]
    assert made == []
    assert numbers(tables["b"]) == [3]
    assert tables["b"] is tables["b"]
    assert made == ["b"]
    assert row_count({"b": tables["b"]}) == 1


def test_the_rows_of_a_delta_are_read_once() -> None:
    reads: list[Row] = []

    def read():
        reads.append(())
        return table(1)

    delta = change.NetDelta(1, 0, read, table)
    assert reads == []
    assert delta.appeared() is delta.appeared()
    assert len(reads) == 1
