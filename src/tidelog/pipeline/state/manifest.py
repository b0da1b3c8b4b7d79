"""The record of one version: which files (or which version of a Delta table) make up each table.

A manifest is the only thing that makes a version exist. It is written last and never changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from tidelog.errors import StateError
from tidelog.pipeline.state.columns import Column, Columns
from tidelog.pipeline.state.protocol import VersionInfo
from tidelog.schema import Kind

FORMAT = 1
"""Raised when an older Tidelog would misread what this one writes."""


@dataclass(frozen=True, slots=True)
class Part:
    """A Parquet file, or a folder of them that Spark wrote; `path` counts from the state's folder."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class Layer:
    """Rows that came and went in one version, or in several taken together."""

    added: Part | None
    removed: Part | None

    @property
    def parts(self) -> Iterator[Part]:
        return (part for part in (self.added, self.removed) if part is not None)

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def growth(self) -> int:
        return (self.added.rows if self.added else 0) - (self.removed.rows if self.removed else 0)


@dataclass(frozen=True, slots=True)
class PartsTable:
    """A table in Parquet: `base`, then every layer in turn.

    `since` is the version that changed it last: there `delta` is what changed, None where all was replaced.
    """

    columns: Columns
    base: Part | None
    layers: tuple[Layer, ...]
    since: int
    delta: Layer | None

    @property
    def rows(self) -> int:
        return (self.base.rows if self.base else 0) + sum(layer.growth for layer in self.layers)

    @property
    def parts(self) -> Iterator[Part]:
        """Every part that the version needs, some of them more than once."""
        if self.base:
            yield self.base
        for layer in (*self.layers, *([self.delta] if self.delta else [])):
            yield from layer.parts


@dataclass(frozen=True, slots=True)
class DeltaTable:
    """A table in Delta Lake, at one of its versions.

    `since` is the version of the state that changed it last, `began` the Delta version before that change (-1: none).
    """

    columns: Columns
    path: str
    version: int
    rows: int
    since: int
    began: int


TableRecord: TypeAlias = PartsTable | DeltaTable


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a version consists of. `token` tells apart two attempts at the same number."""

    layout: str
    token: str
    info: VersionInfo
    tables: Mapping[str, TableRecord]


def write_manifest(manifest: Manifest) -> bytes:
    """The text of `manifest`: JSON with a checksum."""
    info = manifest.info
    record = {
        "tidelog_state": FORMAT,
        "layout": manifest.layout,
        "token": manifest.token,
        "version": info.number,
        "committed_at": info.committed_at.isoformat(),
        "fingerprint": info.fingerprint,
        "batches": dict(info.batches),
        "note": info.note,
        "metrics": dict(info.metrics),
        "tables": {name: _write_table(table) for name, table in manifest.tables.items()},
    }
    return (json.dumps({"checksum": _checksum(record), **record}, ensure_ascii=False) + "\n").encode()


def read_manifest(text: bytes, place: str) -> Manifest:
    """The manifest that `text` is; `place` is named where it is none."""
    try:
        record = json.loads(text)
    except ValueError as error:
        raise _damaged(place, f"it is not JSON ({error})") from error
    if not isinstance(record, dict) or not isinstance(record.get("tidelog_state"), int):
        raise _damaged(place, "it is not the record of a Tidelog state")
    if record["tidelog_state"] > FORMAT:
        raise StateError(
            f"{place} was written by a newer Tidelog (format {record['tidelog_state']}, this one reads to {FORMAT}): "
            f"upgrade Tidelog, or use another state folder"
        )
    if record.pop("checksum", None) != _checksum(record):
        raise _damaged(place, "its checksum does not fit")
    try:
        return _read_record(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(place, f"a field is missing or of another type ({error!r})") from error


def _read_record(record: dict[str, Any]) -> Manifest:
    tables = {name: _read_table(table) for name, table in record["tables"].items()}
    info = VersionInfo(
        record["version"],
        datetime.fromisoformat(record["committed_at"]),
        record["fingerprint"],
        {name: table.rows for name, table in tables.items()},
        record["batches"],
        record["note"],
        record["metrics"],
    )
    return Manifest(record["layout"], record["token"], info, tables)


def _write_table(table: TableRecord) -> dict[str, Any]:
    columns = [[column.name, column.kind.value] for column in table.columns]
    if isinstance(table, DeltaTable):
        kept: dict[str, Any] = {"path": table.path, "delta_version": table.version, "began": table.began}
    else:
        kept = {
            "base": _write_part(table.base),
            "layers": [_write_layer(layer) for layer in table.layers],
            "delta": _write_layer(table.delta) if table.delta else None,
        }
    return {"columns": columns, "rows": table.rows, "since": table.since, **kept}


def _read_table(record: dict[str, Any]) -> TableRecord:
    columns = tuple(Column(name, Kind(kind)) for name, kind in record["columns"])
    since = record["since"]
    if "path" in record:
        return DeltaTable(columns, record["path"], record["delta_version"], record["rows"], since, record["began"])
    layers = tuple(_read_layer(layer) for layer in record["layers"])
    delta = _read_layer(record["delta"]) if record["delta"] else None
    return PartsTable(columns, _read_part(record["base"]), layers, since, delta)


def _write_layer(layer: Layer) -> dict[str, Any]:
    return {"added": _write_part(layer.added), "removed": _write_part(layer.removed)}


def _read_layer(record: dict[str, Any]) -> Layer:
    return Layer(_read_part(record["added"]), _read_part(record["removed"]))


def _write_part(part: Part | None) -> list[Any] | None:
    return None if part is None else [part.path, part.rows]


def _read_part(record: list[Any] | None) -> Part | None:
    return None if record is None else Part(*record)


def _checksum(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _damaged(place: str, why: str) -> StateError:
    return StateError(
        f"{place} is damaged: {why}; restore the file from a backup, or remove it to go back to the version before"
    )
