"""One attempt at a version: writes parts into a folder of its own that nothing knows of until the manifest is there."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from tidelog.errors import StateError
from tidelog.pipeline.state.columns import Columns, arrow_to_stored, checked_columns, columns_of, frame_to_stored
from tidelog.pipeline.state.files import Files, explaining
from tidelog.pipeline.state.layers import merged_from, net_of_tables, outweighs
from tidelog.pipeline.state.manifest import Layer, Part, PartsTable
from tidelog.pipeline.state.parts import PartsReader, parts_added, parts_removed
from tidelog.pipeline.state.protocol import Changed, Replaced, Rows

FOLDER = "parts"

DRIVER_ROWS = 1_000_000
"""Rows up to which parts are merged in the driver; above that Spark does it."""


class Attempt:
    """Parts for version `number`. Arrow tables are held back and written together by `finish`."""

    def __init__(self, files: Files, reader: PartsReader, number: int) -> None:
        self._files, self._reader, self._number = files, reader, number
        self.token = secrets.token_hex(8)
        self._folder = f"{FOLDER}/{number:012d}-{self.token}"
        self._pending: dict[str, pa.Table] = {}
        self._count = 0

    def next_table(self, name: str, before: PartsTable | None, change: Replaced | Changed) -> PartsTable:
        """The record of a table after `change`."""
        match change:
            case Replaced(rows):
                columns = columns_of(name, rows)
                return PartsTable(columns, self._write(name, "base", rows, columns), (), self._number, None)
            case Changed(added, removed, whole):
                given = [columns_of(name, rows) for rows in (added, removed) if rows is not None]
                columns = checked_columns(name, before.columns if before else None, given)
                start = before or PartsTable(columns, None, (), 0, None)
                delta = Layer(
                    None if added is None else self._write(name, "added", added, columns),
                    None if removed is None else self._write(name, "removed", removed, columns),
                )
                return self._with_layer(name, start, delta, whole)

    def finish(self) -> None:
        """Writes what was held back; afterwards the disk has every part."""
        if self._pending:
            with explaining(self._files.address):
                self._files.write_rows(self._pending)
            self._pending = {}

    def undo(self) -> None:
        """Removes the parts, as far as that can be done: `clean` would find them too."""
        with contextlib.suppress(OSError):
            self._files.delete(self._folder)

    @contextlib.contextmanager
    def undone_on_failure(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            self.undo()
            raise

    def _with_layer(self, name: str, table: PartsTable, delta: Layer, whole: Callable[[], Rows] | None) -> PartsTable:
        """`table` with one more layer; some or all of it written anew where layers have become many or heavy."""
        if not delta.rows:
            return table
        grown = replace(table, layers=(*table.layers, delta), since=self._number, delta=delta)
        if outweighs(grown.layers, grown.base.rows if grown.base else 0):
            base = self._write_base(name, grown) if whole is None else self._write(name, "base", whole(), grown.columns)
            return replace(grown, base=base, layers=())
        place = merged_from(grown.layers)
        if place == len(grown.layers):
            return grown
        merged = self._write_merged(name, grown.layers[place:], grown.columns)
        return replace(grown, layers=(*grown.layers[:place], *([merged] if merged.rows else [])))

    def _write_base(self, name: str, table: PartsTable) -> Part | None:
        if sum(part.rows for part in table.parts) > DRIVER_ROWS:
            self.finish()
            return self._write_frame(name, "base", self._reader.table(table))
        base = [table.base] if table.base else []
        present, _ = self._net([*base, *parts_added(table.layers)], parts_removed(table.layers), table.columns)
        return self._write_table(name, "base", present)

    def _write_merged(self, name: str, layers: Sequence[Layer], columns: Columns) -> Layer:
        if sum(layer.rows for layer in layers) > DRIVER_ROWS:
            self.finish()
            frames = self._reader.layers(layers, columns)
            parts = [
                None if frame is None else self._write_frame(name, purpose, frame)
                for frame, purpose in zip(frames, ("merged.added", "merged.removed"), strict=True)
            ]
            return Layer(*parts)
        added, removed = self._net(parts_added(layers), parts_removed(layers), columns)
        return Layer(self._write_table(name, "merged.added", added), self._write_table(name, "merged.removed", removed))

    def _net(self, added: Sequence[Part], removed: Sequence[Part], columns: Columns) -> tuple[pa.Table, pa.Table]:
        """What parts come to, those held back among them."""
        came, went = ([self._rows(part, columns) for part in parts] for parts in (added, removed))
        if not went:
            rows = pa.concat_tables(came)
            return rows, rows.slice(0, 0)
        return net_of_tables(came, went)

    def _rows(self, part: Part, columns: Columns) -> pa.Table:
        held = self._pending.get(part.path)
        return self._reader.rows([part], columns) if held is None else held

    def _write(self, name: str, purpose: str, rows: Rows, columns: Columns) -> Part | None:
        """The part that holds `rows`; None where there are none."""
        if isinstance(rows, DataFrame):
            return self._write_frame(name, purpose, frame_to_stored(rows, columns))
        return self._write_table(name, purpose, arrow_to_stored(rows, columns))

    def _write_table(self, name: str, purpose: str, rows: pa.Table) -> Part | None:
        if not rows.num_rows:
            return None
        path = self._new_path(name, purpose)
        self._pending[path] = rows
        return Part(path, rows.num_rows)

    def _write_frame(self, name: str, purpose: str, rows: DataFrame) -> Part | None:
        path = self._new_path(name, purpose)
        rows.write.mode("error").parquet(f"{self._files.address}/{path}")
        with explaining(self._files.address):
            if not any(
                file.endswith(".parquet") for file in self._files.names(path)
            ):  # Spark writes one for no rows too
                raise StateError(
                    f"Spark wrote table '{name}' where this process does not see it: {self._files.address} must be the "
                    f"same place for the driver and every executor, such as a shared file system or an object store"
                )
            count = self._files.settle(path)
            if not count:
                self._files.delete(path)
        return Part(path, count) if count else None

    def _new_path(self, name: str, purpose: str) -> str:
        self._count += 1
        readable = re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:80]
        return f"{self._folder}/{self._count:03d}-{readable}.{purpose}.parquet"


def attempted_number(folder: str) -> int | None:
    """The version that a folder of parts was written for; None for a folder of somebody else's."""
    number, dash, _ = folder.partition("-")
    return int(number) if dash and number.isdecimal() else None
