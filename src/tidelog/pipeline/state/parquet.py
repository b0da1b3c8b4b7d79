"""State tables in plain Parquet: parts that never change, and a manifest a version that says which make up what.

versions/000000000012.json      the manifest of version 12
parts/000000000012-3f9a…/       parts written for version 12: small ones by Arrow, DataFrames by Spark
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import ConflictError, StateError
from tidelog.pipeline.state.attempt import FOLDER, Attempt, attempted_number
from tidelog.pipeline.state.columns import arrow_from_stored, frame_from_stored
from tidelog.pipeline.state.files import Files, explaining
from tidelog.pipeline.state.history import History, next_info, tables_before
from tidelog.pipeline.state.layers import net_of_frames
from tidelog.pipeline.state.manifest import Manifest, PartsTable, TableRecord
from tidelog.pipeline.state.parts import PartsReader
from tidelog.pipeline.state.protocol import Commit, VersionInfo

LAYOUT = "parquet"


class ParquetState:
    """A `StateStore` whose tables are Parquet files."""

    def __init__(self, files: Files, spark: SparkSession) -> None:
        self._files = files
        self.address = files.address
        self._history = History(files, LAYOUT)
        self._reader = PartsReader(files, spark)

    def versions(self) -> Sequence[VersionInfo]:
        return self._history.versions()

    def last(self) -> VersionInfo | None:
        manifest = self._history.last()
        return manifest.info if manifest else None

    def read(self, table: str, version: int | None = None) -> DataFrame:
        record = self._record(table, version)
        return frame_from_stored(self._reader.table(record), record.columns)

    def read_arrow(self, table: str, version: int | None = None) -> pa.Table:
        record = self._record(table, version)
        return arrow_from_stored(self._reader.table_rows(record), record.columns)

    def deltas(self, table: str, version: int) -> tuple[DataFrame, DataFrame]:
        record = self._record(table, version)
        added, removed = self._delta(table, version, record)
        return frame_from_stored(added, record.columns), frame_from_stored(removed, record.columns)

    def commit(self, commit: Commit, after: int | None) -> VersionInfo:
        base = self._history.base_of(commit, after)
        attempt = Attempt(self._files, self._reader, (after or 0) + 1)
        try:
            with attempt.undone_on_failure():
                tables = self._next_tables(commit, base, attempt)
        except StateError:
            self._history.base_of(commit, after)  # a part may be gone because others committed and cleaned
            raise
        try:
            return self._history.publish(Manifest(LAYOUT, attempt.token, next_info(commit, base, tables), tables))
        except ConflictError:
            attempt.undo()
            raise

    def clean(self, keep: int) -> Sequence[int]:
        forgotten, kept = self._history.split(keep)
        if not kept:
            return []
        needed = {part.path for version in kept for table in version.tables.values() for part in _as_parts(table).parts}
        self._history.forget(forgotten, kept[-1].info.number)
        with explaining(self._files.address):
            self._remove_parts(needed, kept[-1].info.number)
        return forgotten

    def _record(self, table: str, version: int | None) -> PartsTable:
        return _as_parts(self._history.table(table, version))

    def _delta(self, table: str, version: int, record: PartsTable) -> tuple[DataFrame, DataFrame]:
        """What `version` added and removed, with columns as in the files."""
        if record.since == version and record.delta is None:
            return self._difference(table, version, record)
        delta = [record.delta] if record.since == version and record.delta else []
        none = self._reader.frame([], record.columns)
        added, removed = self._reader.layers(delta, record.columns)
        return none if added is None else added, none if removed is None else removed

    def _difference(self, table: str, version: int, record: PartsTable) -> tuple[DataFrame, DataFrame]:
        """How a table that `version` replaced differs from what it was; with other columns, all of it is new."""
        now = self._reader.table(record)
        was = self._history.replaced(table, version, record.columns)
        if was is None:
            return now, self._reader.frame([], record.columns)
        return net_of_frames([now], [self._reader.table(_as_parts(was))])

    def _next_tables(self, commit: Commit, base: Manifest | None, attempt: Attempt) -> Mapping[str, PartsTable]:
        tables = {name: _as_parts(table) for name, table in tables_before(commit, base).items()}
        for name, change in commit.tables.items():
            tables[name] = attempt.next_table(name, tables.get(name), change)
        attempt.finish()
        return tables

    def _remove_parts(self, needed: set[str], last: int) -> None:
        """Removes the parts that no version needs, but none of an attempt that could still become a version."""
        for folder in self._files.names(FOLDER):
            number = attempted_number(folder)
            if number is None or number > last:
                continue
            within = {path for path in needed if path.startswith(f"{FOLDER}/{folder}/")}
            if not within:
                self._files.delete(f"{FOLDER}/{folder}")
                continue
            for name in self._files.names(f"{FOLDER}/{folder}"):
                if f"{FOLDER}/{folder}/{name}" not in within:
                    self._files.delete(f"{FOLDER}/{folder}/{name}")


def _as_parts(table: TableRecord) -> PartsTable:
    assert isinstance(table, PartsTable)  # the history takes manifests of one layout only
    return table
