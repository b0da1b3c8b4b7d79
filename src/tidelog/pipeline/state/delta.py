"""State tables in Delta Lake: a Delta table each, and a manifest a version that names the Delta version of every one.

Delta Lake commits one table at a time. Only the manifest, which is written last, makes the new versions of all tables
count together; a table that is ahead of its manifest was left so by a crash and is restored before it is written again.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidelog.errors import ConflictError, StateError
from tidelog.pipeline.state.columns import (
    Columns,
    arrow_from_stored,
    arrow_to_stored,
    checked_columns,
    columns_of,
    frame_from_stored,
    frame_to_stored,
    stored_arrow_schema,
    stored_names,
    stored_spark_schema,
)
from tidelog.pipeline.state.files import Files, explaining
from tidelog.pipeline.state.history import History, next_info, tables_before
from tidelog.pipeline.state.layers import net_of_frames
from tidelog.pipeline.state.manifest import DeltaTable, Manifest, TableRecord
from tidelog.pipeline.state.protocol import Changed, Commit, Replaced, Rows, VersionInfo

LAYOUT = "delta"
FOLDER = "tables"

REPLACED = -1
"""In place of the Delta version before a change, where there was none or all of it was replaced."""

PROPERTIES = {
    "delta.enableChangeDataFeed": "true",
    "delta.logRetentionDuration": "interval 3650 days",  # old versions go by `clean`, not by age
    "delta.deletedFileRetentionDuration": "interval 3650 days",
}

ONE_FILE = 100_000
"""Rows below which a change is written as one file, as many as Spark has tasks otherwise."""

VACUUM_OPTIONS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
}
"""What old files are removed with: their age is known, and a table has a few folders, for which Spark would start ten
thousand tasks."""

MARGIN_HOURS = 0.1
"""How far the clocks of driver and session may be apart when old files are removed."""


class DeltaState:
    """A `StateStore` whose tables are Delta tables."""

    def __init__(self, files: Files, spark: SparkSession) -> None:
        self._files, self._spark = files, spark
        self._history = History(files, LAYOUT)
        self.address = files.address

    def versions(self) -> Sequence[VersionInfo]:
        return self._history.versions()

    def last(self) -> VersionInfo | None:
        manifest = self._history.last()
        return manifest.info if manifest else None

    def read(self, table: str, version: int | None = None) -> DataFrame:
        record = _as_delta(self._history.table(table, version))
        return frame_from_stored(self._frame(record), record.columns)

    def read_arrow(self, table: str, version: int | None = None) -> pa.Table:
        record = _as_delta(self._history.table(table, version))
        rows = self._frame(record).toArrow().cast(stored_arrow_schema(record.columns))
        return arrow_from_stored(rows, record.columns)

    def deltas(self, table: str, version: int) -> tuple[DataFrame, DataFrame]:
        record = _as_delta(self._history.table(table, version))
        added, removed = self._delta(table, version, record)
        return frame_from_stored(added, record.columns), frame_from_stored(removed, record.columns)

    def commit(self, commit: Commit, after: int | None) -> VersionInfo:
        base = self._history.base_of(commit, after)
        number = (after or 0) + 1
        tables = {name: _as_delta(table) for name, table in tables_before(commit, base).items()}
        for name, change in commit.tables.items():
            tables[name] = self._next_table(name, tables.get(name), change, number)
        return self._history.publish(Manifest(LAYOUT, secrets.token_hex(8), next_info(commit, base, tables), tables))

    def clean(self, keep: int) -> Sequence[int]:
        forgotten, kept = self._history.split(keep)
        if not kept:
            return []
        last = kept[-1].info.number
        self._history.forget(forgotten, last)
        needed = {_as_delta(table).path for version in kept for table in version.tables.values()}
        self._vacuum(needed, kept[0].info.committed_at)
        with explaining(self.address):
            for name in self._files.names(FOLDER):
                number, dash, _ = name.partition("-")
                if dash and number.isdecimal() and int(number) <= last and f"{FOLDER}/{name}" not in needed:
                    self._files.delete(f"{FOLDER}/{name}")
        return forgotten

    def _next_table(self, name: str, before: DeltaTable | None, change: Replaced | Changed, number: int) -> DeltaTable:
        """The record of a table after `change`, which is in the Delta table then."""
        given = [change.rows] if isinstance(change, Replaced) else [change.added, change.removed]
        found = [columns_of(name, rows) for rows in given if rows is not None]
        columns = checked_columns(name, before.columns if before and isinstance(change, Changed) else None, found)
        if isinstance(change, Changed) and before is not None and not found:
            return before
        path = before.path if before else f"{FOLDER}/{number:012d}-{_readable(name)}-{secrets.token_hex(4)}"
        began = self._restored(before) if before else REPLACED
        match change:
            case Replaced(rows):
                self._overwrite(path, self._stored(rows, columns))
            case Changed(added, None):
                self._append(path, self._stored(added, columns))
            case Changed(added, removed):
                self._merge(path, self._stored(added, columns), self._stored(removed, columns), columns)
        version = self._newest(path)
        if version == began:  # Delta makes no version of a change without rows
            return before if before else self._no_rows(path)
        if version != began + 1:
            raise ConflictError(
                f"another run writes to the state at {self.address} (table '{name}' is at Delta version {version}, "
                f"not {began + 1} as expected). Nothing was committed; let only one run use a state at a time"
            )
        kept = before if isinstance(change, Changed) else None
        count = self._count(path, version, kept.rows if kept else 0)
        return DeltaTable(columns, path, version, count, number, began if kept else REPLACED)

    def _restored(self, table: DeltaTable) -> int:
        """The newest Delta version of a table, which has the rows of its manifest."""
        if self._newest(table.path) != table.version:
            self._spark.sql(f"RESTORE TABLE {self._name(table.path)} TO VERSION AS OF {table.version}").collect()
        return self._newest(table.path)

    def _newest(self, path: str) -> int:
        """The newest Delta version, by the names in the table's log: no Spark job."""
        with explaining(self.address):
            names = self._files.names(f"{path}/_delta_log")
        numbers = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return max((int(number) for number in numbers if number.isdecimal()), default=REPLACED)

    def _count(self, path: str, version: int, before: int) -> int:
        """How many rows a Delta version has, by what the table's log says of the commit: no Spark job."""
        with explaining(self.address):
            lines = self._files.read(f"{path}/_delta_log/{version:020d}.json").splitlines()
        found = {key: value for line in lines for key, value in json.loads(line).items()}
        match found.get("commitInfo", {}).get("operationMetrics"):
            case {"numTargetRowsInserted": came, "numTargetRowsDeleted": went}:
                return before + int(came) - int(went)
            case {"numOutputRows": came}:
                return before + int(came)
            case _:  # the session is told not to note such figures
                return self._at(path, version).count()

    def _overwrite(self, path: str, rows: DataFrame) -> None:
        writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").options(**PROPERTIES)
        writer.save(self._place(path))

    def _append(self, path: str, rows: DataFrame) -> None:
        rows.write.format("delta").mode("append").options(**PROPERTIES).save(self._place(path))

    def _merge(self, path: str, added: DataFrame, removed: DataFrame, columns: Columns) -> None:
        """Removes and adds rows in one Delta version."""
        names = [f"`{name}`" for name in stored_names(columns)]
        sign = "".join(stored_names(columns)) + "_sign"
        changes = added.withColumn(sign, f.lit(1)).unionAll(removed.withColumn(sign, f.lit(-1)))
        same = " AND ".join(f"kept.{name} = change.{name}" for name in names)
        self._spark.sql(
            f"MERGE INTO {self._name(path)} AS kept USING {{changes}} AS change ON {same} "
            f"WHEN MATCHED AND change.`{sign}` = -1 THEN DELETE "
            f"WHEN NOT MATCHED AND change.`{sign}` = 1 THEN INSERT ({', '.join(names)}) "
            f"VALUES ({', '.join(f'change.{name}' for name in names)})",
            changes=changes,
        ).collect()

    def _stored(self, rows: Rows | None, columns: Columns) -> DataFrame:
        schema = stored_spark_schema(columns)
        if rows is None:
            return self._spark.createDataFrame([], schema)
        if isinstance(rows, DataFrame):
            return frame_to_stored(rows, columns)
        frame = self._spark.createDataFrame(arrow_to_stored(rows, columns).combine_chunks(), schema)
        return frame.coalesce(1) if rows.num_rows < ONE_FILE else frame

    def _delta(self, table: str, version: int, record: DeltaTable) -> tuple[DataFrame, DataFrame]:
        if record.since != version:
            none = self._stored(None, record.columns)
            return none, none
        if record.began == REPLACED:
            return self._difference(table, version, record)
        feed = self._spark.read.format("delta").option("readChangeFeed", "true")
        with self._explaining_table():
            rows = feed.option("startingVersion", record.began + 1).option("endingVersion", record.version)
            changes = rows.load(self._place(record.path))
        kinds = [changes.where(f.col("_change_type") == kind) for kind in ("insert", "delete")]
        added, removed = (kind.select(*(f.col(f"`{name}`") for name in stored_names(record.columns))) for kind in kinds)
        return net_of_frames([added], [removed])

    def _difference(self, table: str, version: int, record: DeltaTable) -> tuple[DataFrame, DataFrame]:
        """How a table that `version` replaced differs from what it was; with other columns, all of it is new."""
        was = self._history.replaced(table, version, record.columns)
        if was is None:
            return self._frame(record), self._stored(None, record.columns)
        return net_of_frames([self._frame(record)], [self._frame(_as_delta(was))])

    def _frame(self, record: DeltaTable) -> DataFrame:
        return self._at(record.path, record.version)

    def _at(self, path: str, version: int) -> DataFrame:
        with self._explaining_table():
            return self._spark.read.format("delta").option("versionAsOf", version).load(self._place(path))

    def _vacuum(self, paths: set[str], needed_since: datetime) -> None:
        """Removes files that were already out of use at `needed_since`; Delta Lake rounds to whole hours, so up."""
        hours = math.ceil((datetime.now(UTC) - needed_since).total_seconds() / 3600 + MARGIN_HOURS)
        with self._options(VACUUM_OPTIONS):
            for path in sorted(paths):
                self._spark.sql(f"VACUUM {self._name(path)} RETAIN {hours} HOURS").collect()

    @contextmanager
    def _options(self, options: Mapping[str, str]) -> Iterator[None]:
        """A block in which the session has these options."""
        before = {name: self._spark.conf.get(name, None) for name in options}
        for name, value in options.items():
            self._spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, was in before.items():
                if was is None:
                    self._spark.conf.unset(name)
                else:
                    self._spark.conf.set(name, was)

    def _no_rows(self, path: str) -> DeltaTable:
        raise StateError(f"Delta Lake made no table at {self._place(path)}: the session seems to be without Delta Lake")

    def _place(self, path: str) -> str:
        return f"{self.address}/{path}"

    def _name(self, path: str) -> str:
        return f"delta.`{self._place(path).replace('`', '``')}`"

    @contextmanager
    def _explaining_table(self) -> Iterator[None]:
        try:
            yield
        except AnalysisException as error:
            raise StateError(
                f"a table of the state at {self.address} cannot be read: {error}; if its files or its history were "
                f"removed by something else than Tidelog, restore them from a backup or materialise anew elsewhere"
            ) from error


def _as_delta(table: TableRecord) -> DeltaTable:
    assert isinstance(table, DeltaTable)  # the history takes manifests of one layout only
    return table


def _readable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:80]
