"""Reads tables that are made of parts, as DataFrames or as Arrow in the driver. Columns are as in the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import StateError
from tidelog.pipeline.state.columns import Columns, stored_arrow_schema, stored_spark_schema
from tidelog.pipeline.state.files import Files, explaining
from tidelog.pipeline.state.layers import frame_without, net_of_frames, net_of_tables, union_of
from tidelog.pipeline.state.manifest import Layer, Part, PartsTable

GLOB_LETTERS = frozenset("\\*?[]{}")
"""Letters that Spark would take for a pattern in a path."""


class PartsReader:
    def __init__(self, files: Files, spark: SparkSession) -> None:
        self._files, self._spark = files, spark

    def table(self, table: PartsTable) -> DataFrame:
        """The rows of a table.

        What the layers come to is small beside the base: the base is read past it, without being sorted or shuffled.
        """
        base = [self.frame([table.base], table.columns)] if table.base else []
        added, removed = self.layers(table.layers, table.columns)
        if removed is not None:
            base = [frame_without(frame, removed) for frame in base]
        kept = [*base, *([added] if added is not None else [])]
        return union_of(kept) if kept else self.frame([], table.columns)

    def layers(self, layers: Sequence[Layer], columns: Columns) -> tuple[DataFrame | None, DataFrame | None]:
        """What `layers` come to: the rows added and the rows removed, None for none."""
        added, removed = parts_added(layers), parts_removed(layers)
        added_frame = self.frame(added, columns) if added else None
        removed_frame = self.frame(removed, columns) if removed else None
        if added_frame is None or removed_frame is None:  # a row that only came, or only went, did so once
            return added_frame, removed_frame
        return net_of_frames([added_frame], [removed_frame])

    def frame(self, parts: Iterable[Part], columns: Columns) -> DataFrame:
        """The rows of parts, one behind the other."""
        schema = stored_spark_schema(columns)
        paths = [f"{self._files.address}/{part.path}" for part in parts]
        if not paths:
            return self._spark.createDataFrame([], schema)
        try:
            return self._spark.read.schema(schema).parquet(*map(_literal, paths))
        except AnalysisException as error:
            raise StateError(
                f"a part of the state at {self._files.address} cannot be read: {error}; if it was removed "
                f"by something else than Tidelog, restore it from a backup or materialise anew into another folder"
            ) from error

    def table_rows(self, table: PartsTable) -> pa.Table:
        """The rows of a table, in the driver."""
        base = [table.base] if table.base else []
        added, removed = [*base, *parts_added(table.layers)], parts_removed(table.layers)
        if not removed:
            return self.rows(added, table.columns)
        return net_of_tables([self.rows(added, table.columns)], [self.rows(removed, table.columns)])[0]

    def rows(self, parts: Iterable[Part], columns: Columns) -> pa.Table:
        """The rows of parts, in the driver."""
        schema = stored_arrow_schema(columns)
        with explaining(self._files.address):
            pieces = [self._files.read_rows(part.path, schema) for part in parts]
        return pa.concat_tables(pieces) if pieces else schema.empty_table()


def parts_added(layers: Sequence[Layer]) -> list[Part]:
    return [layer.added for layer in layers if layer.added]


def parts_removed(layers: Sequence[Layer]) -> list[Part]:
    return [layer.removed for layer in layers if layer.removed]


def _literal(path: str) -> str:
    """`path` with nothing in it that Spark takes for a pattern."""
    return "".join(f"\\{letter}" if letter in GLOB_LETTERS else letter for letter in path)
