"""Commits to a state: what they keep, how layers are merged, what cleaning leaves."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.fs import _MockFileSystem
from state_model import (
    VALUES,
    Clean,
    Model,
    check_equal,
    compact_early,
    opened,
    random_script,
    rows_of,
    run_action,
    table_of,
)

from tidelog.errors import ConflictError, StateError, UsageError
from tidelog.pipeline.state import Changed, Commit, Replaced, last_version
from tidelog.pipeline.state.files import RemoteFiles
from tidelog.pipeline.state.layers import FEWEST_MERGED, MOST_LAYERS, merged_from, net_of_tables
from tidelog.pipeline.state.manifest import Layer, Part
from tidelog.pipeline.state.parquet import ParquetState

ONE, TWO, THREE = (1, "a"), (2, "b"), (3, "c")


def replace_edges(*rows: tuple[int, str], program: str = "program") -> Commit:
    return Commit({"edge": Replaced(table_of(frozenset(rows)))}, program)


def add_edges(*rows: tuple[int, str], program: str = "program") -> Commit:
    return Commit({"edge": Changed(added=table_of(frozenset(rows)))}, program)


def remove_edges(*rows: tuple[int, str]) -> Commit:
    return Commit({"edge": Changed(removed=table_of(frozenset(rows)))}, "program")


def test_a_version_has_what_was_added_and_not_what_was_removed(tmp_path: Path) -> None:
    state = opened(tmp_path)
    state.commit(replace_edges(ONE, TWO), None)
    state.commit(Commit({"edge": Changed(table_of(frozenset({THREE})), table_of(frozenset({ONE})))}, "program"), 1)
    assert rows_of(opened(tmp_path).read_arrow("edge")) == {TWO, THREE}
    assert rows_of(opened(tmp_path).read_arrow("edge", 1)) == {ONE, TWO}


def test_a_row_that_came_back_is_there_once(tmp_path: Path) -> None:
    state = opened(tmp_path)
    for number, commit in enumerate([replace_edges(ONE), remove_edges(ONE), add_edges(ONE)]):
        state.commit(commit, number or None)
    assert state.read_arrow("edge").num_rows == 1
    assert state.read_arrow("edge", 2).num_rows == 0


def test_tables_and_streams_that_a_commit_does_not_name_stay(tmp_path: Path) -> None:
    state = opened(tmp_path)
    state.commit(Commit({"edge": Replaced(table_of(frozenset({ONE})))}, "program", {"orders": 4}, "first"), None)
    info = state.commit(Commit({"path": Replaced(table_of(frozenset({TWO})))}, "program", {"returns": 7}), 1)
    assert info.batches == {"orders": 4, "returns": 7}
    assert info.tables == {"edge": 1, "path": 1}
    assert [version.note for version in state.versions()] == ["first", ""]


def test_every_kind_of_column_comes_back_as_it_was(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "n": pa.array([-(2**63), 2**63 - 1], pa.int64()),
            "u": pa.array([0, 2**64 - 1], pa.uint64()),
            "f": pa.array([float("-inf"), 0.1], pa.float64()),
            "s": pa.array(["", "ä\n\0"], pa.large_string()),
        }
    )
    state = opened(tmp_path)
    state.commit(Commit({"p": Replaced(rows)}, "program"), None)
    state.commit(Commit({"p": Changed(removed=rows.slice(0, 1))}, "program"), 1)
    assert state.read_arrow("p", 1).to_pydict() == rows.to_pydict()
    assert state.read_arrow("p").to_pydict() == rows.slice(1).to_pydict()
    assert state.read_arrow("p").schema.types == rows.schema.types


def test_a_relation_without_columns_has_one_row_or_none(tmp_path: Path) -> None:
    there = pa.table({"": pa.nulls(1)}).select([])
    state = opened(tmp_path)
    state.commit(Commit({"go": Replaced(there)}, "program"), None)
    state.commit(Commit({"go": Changed(removed=there)}, "program"), 1)
    assert [state.read_arrow("go", version).num_rows for version in (1, 2)] == [1, 0]
    assert state.read_arrow("go").num_columns == 0


def test_names_that_differ_in_case_only_are_two_columns(tmp_path: Path) -> None:
    rows = pa.table({"x": pa.array([1]), "X": pa.array([2])})
    state = opened(tmp_path)
    state.commit(Commit({"p": Replaced(rows)}, "program"), None)
    assert state.read_arrow("p").to_pylist() == [{"x": 1, "X": 2}]


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_scripts_with_merges_and_cleaning_equal_the_model(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        compact_early(monkeypatch)
        model, state = Model(), opened(tmp_path_factory.mktemp("state"))
        for action in random_script(seed, 14):
            run_action(state, model, action)
            model.take(action)
            check_equal(state, model)


@settings(max_examples=30)
@given(st.lists(st.frozensets(st.sampled_from(VALUES)), min_size=2, max_size=5))
def test_few_rows_and_many_are_counted_alike(contents: list[frozenset[tuple[int, str]]]) -> None:
    steps = list(pairwise(contents))
    added = [table_of(after - before) for before, after in steps]
    removed = [table_of(before - after) for before, after in steps]
    few = net_of_tables(added, removed)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tidelog.pipeline.state.layers.FEW_COUNTED", -1)
        many = net_of_tables(added, removed)
    expected = (contents[-1] - contents[0], contents[0] - contents[-1])
    assert tuple(map(rows_of, few)) == tuple(map(rows_of, many)) == expected


def test_layers_stay_few_and_rows_are_rewritten_seldom() -> None:
    layers: list[Layer] = []
    written = 0
    for number in range(4000):
        layers.append(Layer(Part(str(number), 100), None))
        place = merged_from(layers)
        if place < len(layers):
            rows = sum(layer.rows for layer in layers[place:])
            assert len(layers) - place >= FEWEST_MERGED
            layers[place:] = [Layer(Part("merged", rows), None)]
            written += rows
        assert len(layers) <= MOST_LAYERS
    assert written < 10 * 4000 * 100


def test_a_hundred_rows_are_committed_in_milliseconds(tmp_path: Path) -> None:
    state = opened(tmp_path)
    state.commit(replace_edges(*((number, "a") for number in range(10_000))), None)
    times = []
    for version in range(1, 21):
        rows = table_of(frozenset((number, "b") for number in range(version * 100, version * 100 + 100)))
        began = time.perf_counter()
        state.commit(Commit({"edge": Changed(added=rows)}, "program"), version)
        times.append(time.perf_counter() - began)
    assert sorted(times)[10] < 0.05


def test_the_second_of_two_writers_gets_a_conflict_and_changes_nothing(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    first.commit(replace_edges(ONE), None)
    first.commit(add_edges(TWO), 1)
    with pytest.raises(ConflictError, match=r"is at version 2, and this commit builds on version 1"):
        second.commit(add_edges(THREE), 1)
    assert rows_of(second.read_arrow("edge")) == {ONE, TWO}


def test_a_writer_that_is_overtaken_while_it_writes_gets_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = opened(tmp_path), opened(tmp_path)
    quick.commit(replace_edges(ONE), None)
    publish = slow._files.publish

    def overtaken(path: str, content: bytes) -> None:
        quick.commit(add_edges(TWO), 1)
        publish(path, content)

    monkeypatch.setattr(slow._files, "publish", overtaken)
    with pytest.raises(ConflictError, match="Nothing was changed"):
        slow.commit(add_edges(THREE), 1)
    assert rows_of(slow.read_arrow("edge")) == {ONE, TWO}
    assert len(list((tmp_path / "parts").iterdir())) == 2
    assert len(list((tmp_path / "versions").iterdir())) == 2


def test_a_writer_that_is_overtaken_and_cleaned_away_gets_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = opened(tmp_path), opened(tmp_path)
    quick.commit(replace_edges(ONE), None)
    publish = slow._files.publish

    def overtaken(path: str, content: bytes) -> None:
        quick.commit(add_edges(TWO), 1)
        quick.commit(remove_edges(ONE), 2)
        quick.clean(1)
        publish(path, content)

    monkeypatch.setattr(slow._files, "publish", overtaken)
    with pytest.raises(ConflictError, match="is at version 3"):
        slow.commit(add_edges(THREE), 1)
    assert [version.number for version in slow.versions()] == [3]
    assert rows_of(slow.read_arrow("edge")) == {TWO}


def test_cleaning_keeps_what_another_writer_is_about_to_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, cleaner = opened(tmp_path), opened(tmp_path)
    writer.commit(replace_edges(ONE), None)
    writer.commit(add_edges(TWO), 1)
    publish = writer._files.publish

    def cleaned(path: str, content: bytes) -> None:
        cleaner.clean(1)
        publish(path, content)

    monkeypatch.setattr(writer._files, "publish", cleaned)
    writer.commit(add_edges(THREE), 2)
    assert rows_of(cleaner.read_arrow("edge")) == {ONE, TWO, THREE}


def test_cleaning_forgets_old_versions_and_says_which(tmp_path: Path) -> None:
    state = opened(tmp_path)
    for number in range(5):
        state.commit(replace_edges((number, "a")), number or None)
    assert state.clean(keep=2) == [1, 2, 3]
    assert [version.number for version in state.versions()] == [4, 5]
    assert len(list((tmp_path / "parts").iterdir())) == 2
    with pytest.raises(UsageError, match="has no version 3: versions 4 to 5 are kept"):
        opened(tmp_path).read_arrow("edge", 3)
    with pytest.raises(UsageError, match="at least one version must be kept"):
        state.clean(keep=0)


def test_another_program_can_begin_anew_but_change_nothing(tmp_path: Path) -> None:
    state = opened(tmp_path)
    state.commit(Commit({"edge": Replaced(table_of(frozenset({ONE})))}, "old program", {"orders": 4}), None)
    with pytest.raises(StateError, match="was written by another program: version 1 has the fingerprint old program"):
        state.commit(add_edges(TWO, program="new program"), 1)
    with pytest.raises(StateError, match="written by another program"):
        last_version(state, "new program")
    with pytest.raises(StateError, match="run --anew"):
        state.commit(Commit({"path": Replaced(table_of(frozenset({TWO})))}, "new program"), 1)
    info = state.commit(Commit({"path": Replaced(table_of(frozenset({TWO})))}, "new program", begins=True), 1)
    assert info.tables == {"path": 1}
    assert info.batches == {}
    assert last_version(state, "new program") == info


def test_a_state_on_another_file_system_equals_the_model() -> None:
    system = _MockFileSystem()
    model = Model()
    for action in random_script(3, 12):
        run_action(remote(system), model, action)
        model.take(action)
        check_equal(remote(system), model)
    with pytest.raises(ConflictError):
        remote(system).commit(add_edges(ONE), model.last - 1 or None)
    run_action(remote(system), model, Clean(1))


def remote(system: _MockFileSystem) -> ParquetState:
    return ParquetState(RemoteFiles(system, "bucket/state", "mock://bucket/state"), None)  # type: ignore[arg-type]


def test_a_base_that_is_written_anew_takes_the_rows_that_are_at_hand(tmp_path: Path) -> None:
    state, many = opened(tmp_path), frozenset((number, "b") for number in range(2000))
    asked = []

    def whole() -> pa.Table:
        asked.append(True)
        return table_of(many | {TWO})

    state.commit(replace_edges(ONE, TWO), None)
    change = Changed(table_of(many - {TWO}), table_of(frozenset({ONE})), whole)
    state.commit(Commit({"edge": change}, "program"), 1)
    assert asked
    assert rows_of(opened(tmp_path).read_arrow("edge")) == many | {TWO}
    few = Changed(table_of(frozenset({ONE})), None, lambda: pytest.fail("a layer is enough"))
    state.commit(Commit({"edge": few}, "program"), 2)
    assert rows_of(opened(tmp_path).read_arrow("edge")) == many | {ONE, TWO}
