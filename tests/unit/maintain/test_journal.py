"""A journal knows the net change of each relation and the way back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tidelog.analysis.checked import ClosureGroup, ClosureKind
from tidelog.backends.local.backend import LocalBackend
from tidelog.facts.columns import arrow_schema, column_of
from tidelog.facts.fact_set import FactSet
from tidelog.maintain.journal import Journal, Net
from tidelog.plan.nodes import ClosedRelation
from tidelog.schema import Attribute, Kind, Row, Schema

NAMES = ("edge", "path", "path@edges")
SCHEMAS = {
    name: Schema(name, (Attribute("a", "number", Kind.NUMBER), Attribute("b", "number", Kind.NUMBER))) for name in NAMES
}
CLOSURE = ClosureGroup("path", ClosureKind.TRANSITIVE, source=0, target=1, group=(), rules=(1,))
COMPACT = ClosedRelation(CLOSURE, "path@edges", is_written_out=False)
WRITTEN = ClosedRelation(CLOSURE, "path@edges", is_written_out=True)


class Tables:
    """A backend of pairs, and a journal of what is done to it."""

    def __init__(self, **rows: Iterable[Row]) -> None:
        self.backend = LocalBackend(SCHEMAS)
        for name, pairs in rows.items():
            self.backend.insert(name, table(pairs))
        self.journal = Journal(self.backend)

    def facts(self, name: str, pairs: Iterable[Row]) -> FactSet:
        return self.backend.facts(name, table(pairs))

    def none(self) -> FactSet:
        return self.facts("edge", [])

    def rows(self, name: str, facts: FactSet | None = None) -> set[Row]:
        return set(zip(*self.backend.table(name, facts).to_pydict().values(), strict=True))

    def net(self, name: str) -> tuple[set[Row], set[Row]]:
        """What came and what went, nothing of either where the journal has nothing to say."""
        net = self.journal.nets.get(name)
        return (set(), set()) if net is None else (self.rows(name, net.came), self.rows(name, net.went))


def table(pairs: Iterable[Row]) -> pa.Table:
    rows = list(pairs)
    columns = [column_of(Kind.NUMBER, [row[number] for row in rows]) for number in (0, 1)]
    return pa.Table.from_arrays(columns, schema=arrow_schema(SCHEMAS["edge"]))


pairs = st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)))


def fact_set(rows: Iterable[Row]) -> FactSet:
    ordered = sorted(rows)
    return FactSet(np.array(ordered, np.int32).reshape(len(ordered), 2))


@given(pairs, pairs, pairs)
def test_two_changes_together_are_the_difference_from_first_to_last(
    first: set[Row], second: set[Row], third: set[Row]
) -> None:
    net = Net(fact_set(second - first), fact_set(first - second))
    both = net.then(fact_set(third - second), fact_set(second - third))
    assert set(map(tuple, both.came.rows.tolist())) == third - first
    assert set(map(tuple, both.went.rows.tolist())) == first - third
    assert bool(both) == (first != third)


def test_what_is_stored_and_removed_is_netted() -> None:
    tables = Tables(edge=[(1, 1), (2, 2)])
    tables.journal.store("edge", tables.facts("edge", [(3, 3), (4, 4)]))
    tables.journal.remove("edge", tables.facts("edge", [(1, 1), (3, 3)]))
    assert tables.rows("edge") == {(2, 2), (4, 4)}
    assert tables.net("edge") == ({(4, 4)}, {(1, 1)})


def test_a_relation_that_is_as_it_was_is_no_news() -> None:
    tables = Tables(edge=[(1, 1)])
    tables.journal.remove("edge", tables.facts("edge", [(1, 1)]))
    tables.journal.store("edge", tables.facts("edge", [(1, 1)]))
    assert "edge" not in tables.journal.nets


def test_a_relation_filled_again_has_changed_by_the_difference() -> None:
    tables = Tables(edge=[(1, 1), (2, 2), (3, 3)])
    tables.journal.remove("edge", tables.facts("edge", [(3, 3)]))
    held = tables.journal.clear("edge")
    assert tables.rows("edge", held) == {(1, 1), (2, 2), (3, 3)}, "what it had before the change began"
    assert tables.rows("edge") == set()
    tables.backend.insert("edge", table([(2, 2), (4, 4)]))
    tables.journal.refilled("edge")
    assert tables.net("edge") == ({(4, 4)}, {(1, 1), (3, 3)})


def test_what_a_relation_filled_again_has_lost_is_known_by_number_and_read_whatever_came_of_it_since() -> None:
    tables = Tables(edge=[(1, 1), (2, 2), (3, 3)])
    tables.journal.clear("edge")
    tables.backend.insert("edge", table([(3, 3), (1, 1)]))
    tables.journal.refilled_with_less("edge")
    net = tables.journal.nets["edge"]
    assert (len(net.came), len(net.went)) == (0, 1)
    tables.backend.insert("edge", table([(2, 2)]))
    assert tables.net("edge") == (set(), {(2, 2)})


@given(pairs, st.data())
def test_what_a_relation_filled_again_has_lost_is_read_at_once(before: set[Row], data: st.DataObject) -> None:
    after = data.draw(st.sets(st.sampled_from(sorted(before)))) if before else set()
    tables = Tables(edge=before)
    tables.journal.clear("edge")
    tables.backend.insert("edge", table(after))
    tables.journal.refilled_with_less("edge")
    assert tables.net("edge") == (set(), before - after)


def test_a_relation_filled_again_with_the_same_is_no_news() -> None:
    tables = Tables(edge=[(1, 1), (2, 2)])
    tables.journal.clear("edge")
    tables.backend.insert("edge", table([(2, 2), (1, 1)]))
    tables.journal.refilled("edge")
    assert tables.journal.nets == {}


def test_taking_back_restores_what_was_changed_and_names_it() -> None:
    tables = Tables(edge=[(1, 1)], path=[(5, 5), (6, 6)])
    tables.journal.store("edge", tables.facts("edge", [(2, 2)]))
    tables.journal.remove("edge", tables.facts("edge", [(1, 1)]))
    tables.journal.clear("path")
    tables.backend.insert("path", table([(7, 7)]))
    assert tables.journal.take_back() == {"edge", "path"}
    assert (tables.rows("edge"), tables.rows("path")) == ({(1, 1)}, {(5, 5), (6, 6)})
    assert tables.journal.nets == {}
    assert tables.journal.take_back() == set()


def test_a_closure_is_netted_over_several_changes() -> None:
    for closed in (COMPACT, WRITTEN):
        tables = Tables()
        tables.backend.close(closed, tables.facts("path@edges", [(1, 2), (2, 3)]), tables.none())
        tables.journal.close(closed, tables.facts("path@edges", [(3, 4)]), tables.none())
        tables.journal.close(closed, tables.none(), tables.facts("path@edges", [(1, 2)]))
        assert tables.rows("path") == {(2, 3), (2, 4), (3, 4)}
        assert tables.net("path") == ({(2, 4), (3, 4)}, {(1, 2), (1, 3)})


def test_taking_back_a_closure_brings_its_edges_back_in_reverse() -> None:
    for closed in (COMPACT, WRITTEN):
        tables = Tables()
        tables.backend.close(closed, tables.facts("path@edges", [(1, 2), (2, 3)]), tables.none())
        tables.journal.close(closed, tables.none(), tables.facts("path@edges", [(1, 2)]))
        tables.journal.close(closed, tables.facts("path@edges", [(1, 2), (5, 6)]), tables.none())
        tables.journal.take_back()
        assert tables.rows("path") == {(1, 2), (1, 3), (2, 3)}
        appeared, vanished = tables.backend.close(closed, tables.none(), tables.facts("path@edges", [(5, 6), (2, 3)]))
        assert len(appeared) == 0
        assert tables.rows("path", vanished) == {(1, 3), (2, 3)}


def test_a_closure_computed_anew_follows_its_edges_there_and_back() -> None:
    for closed in (COMPACT, WRITTEN):
        tables = Tables(**{"path@edges": [(1, 2), (2, 3)]})
        tables.backend.close(closed, tables.backend.facts("path@edges"), tables.none())
        tables.journal.remove("path@edges", tables.facts("path@edges", [(1, 2)]))
        tables.journal.close_again(closed)
        assert tables.rows("path") == {(2, 3)}
        assert tables.net("path") == (set(), {(1, 2), (1, 3)})
        tables.journal.take_back()
        assert tables.rows("path@edges") == {(1, 2), (2, 3)}
        assert tables.rows("path") == {(1, 2), (1, 3), (2, 3)}
