"""A state of a pipeline as Python sets, and scripts of commits to try on it and on the real one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pytest

from tidelog.pipeline.state import Changed, Commit, Replaced
from tidelog.pipeline.state.files import open_files
from tidelog.pipeline.state.parquet import ParquetState

Row: TypeAlias = tuple[int, str]
Content: TypeAlias = Mapping[str, frozenset[Row]]

TABLES = ("edge", "path")
VALUES = [(number, letter) for number in range(4) for letter in "ab"]


@dataclass(frozen=True)
class Step:
    """The content after a commit, and the tables it is to be written whole, not as a delta."""

    content: Content
    replaced: frozenset[str]


@dataclass(frozen=True)
class Clean:
    keep: int


Script: TypeAlias = Sequence[Step | Clean]


@dataclass
class Model:
    """The versions that a state should have, by number."""

    versions: dict[int, Content] = field(default_factory=dict)
    last: int = 0

    def take(self, action: Step | Clean) -> None:
        match action:
            case Step(content):
                self.last += 1
                self.versions[self.last] = content
            case Clean(keep):
                self.versions = {number: self.versions[number] for number in sorted(self.versions)[-keep:]}


def random_script(seed: int, length: int) -> Script:
    """A script in which the first commit fills every table."""
    chance = random.Random(seed)
    script: list[Step | Clean] = []
    for number in range(length):
        if number and chance.random() < 0.2:
            script.append(Clean(chance.randint(1, 3)))
        else:
            content = {table: frozenset(row for row in VALUES if chance.random() < 0.5) for table in TABLES}
            whole = TABLES if not number else [table for table in TABLES if chance.random() < 0.15]
            script.append(Step(content, frozenset(whole)))
    return script


def run_action(state: ParquetState, model: Model, action: Step | Clean) -> None:
    """Does `action` to the state; the model is as it was."""
    match action:
        case Step(content, replaced):
            before = model.versions.get(model.last, {})
            changes = {
                table: Replaced(table_of(rows)) if table in replaced else delta_of(before.get(table, frozenset()), rows)
                for table, rows in content.items()
            }
            state.commit(Commit(changes, "program", {"stream": model.last}), model.last or None)
        case Clean(keep):
            state.clean(keep)


def delta_of(before: frozenset[Row], after: frozenset[Row]) -> Changed:
    return Changed(table_of(after - before) if after - before else None, table_of(before - after))


def table_of(rows: frozenset[Row]) -> pa.Table:
    numbers, letters = [row[0] for row in sorted(rows)], [row[1] for row in sorted(rows)]
    return pa.table({"x": pa.array(numbers, pa.int64()), "y": pa.array(letters, pa.large_string())})


def rows_of(table: pa.Table) -> frozenset[Row]:
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert len(set(rows)) == len(rows)
    return frozenset(rows)  # type: ignore[arg-type]


def content_of(state: ParquetState, version: int) -> Content:
    return {table: rows_of(state.read_arrow(table, version)) for table in TABLES}


def check_equal(state: ParquetState, model: Model) -> None:
    """Every version that is kept, and no other, has the tables it had when it was committed."""
    infos = state.versions()
    assert [info.number for info in infos] == sorted(model.versions)
    for info in infos:
        content = model.versions[info.number]
        assert content_of(state, info.number) == content
        assert info.tables == {table: len(rows) for table, rows in content.items()}
        assert info.batches == {"stream": info.number - 1}


def opened(folder: Path) -> ParquetState:
    """A state that needs no Spark: its rows are Arrow and it is read as Arrow."""
    return ParquetState(open_files(str(folder)), None)  # type: ignore[arg-type]


def compact_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets merges and new bases come after a few rows."""
    for name, value in {"MOST_LAYERS": 2, "FEWEST_MERGED": 2, "FEW_ROWS": 14, "SHARE": 1.0}.items():
        monkeypatch.setattr(f"tidelog.pipeline.state.layers.{name}", value)
