"""Answers to where a pipeline file says: the rows of each output, and what appeared and vanished in each version.

On a local disk a version appears by a rename. Delta tables have transactions of their own. On other file systems Spark
overwrites a folder, so a reader may meet it half written.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import time

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidelog.backends.spark.layout import CARRIED
from tidelog.backends.spark.reasons import SPARK_ERRORS, spark_reason
from tidelog.errors import OutputError
from tidelog.pipeline.config import Format, Output, Tier
from tidelog.pipeline.config_file import IS_FILE_SYSTEM
from tidelog.pipeline.flow import Flow
from tidelog.pipeline.flow_delta import FlowDelta, FlowRelationDelta

CHANGE = "change"
APPEARED, VANISHED = "appeared", "vanished"
MARK = "_tidelog_version"
"""The file in a folder that says which version it holds, or up to which version it has deltas; Spark looks past it."""

UNFINISHED = re.compile(r"\.[0-9a-f]{12}(\.new|\.old)?$")
LEFT_BEHIND = 24 * 3600.0

CSV_OPTIONS = {"header": "true", "escape": '"'}


class Sinks:
    """The outputs of a pipeline. What they hold is told from the folders themselves, so a crash is made up for."""

    def __init__(self, flow: Flow, outputs: Mapping[str, Output], owner: str) -> None:
        self._flow = flow
        self._outputs = outputs
        self._owner = owner

    def write_rows(self) -> list[str]:
        """Writes every output whose folder has not the version of now; the relations written."""
        written = []
        for relation, output in self._outputs.items():
            if output.path and (not _is_plain(output, output.path) or _mark(output.path) != self._flow.version):
                self._write(self._flow.read(relation), output, output.path)
                written.append(relation)
        return written

    def write_deltas(self, delta: FlowDelta) -> None:
        """Adds what a change did to the deltas of each output."""
        if delta.tier is Tier.SPARK:
            self.catch_up()  # the state has them, whatever becomes of executors
            return
        for relation, output in self._outputs.items():
            if output.deltas:
                if _is_plain(output, output.deltas) and output.format is Format.PARQUET:
                    _write_arrow_delta(delta[relation], output, delta.version)
                elif relation in delta:
                    part = delta[relation]
                    self._write_delta(part.appeared, part.vanished, output, delta.version)
                set_mark(output, delta.version)

    def catch_up(self) -> None:
        """Writes the deltas of versions that were committed and not written, as after a crash."""
        for relation, output in self._outputs.items():
            if not output.deltas:
                continue
            is_marked = _is_plain(output, output.deltas)
            last = _mark(output.deltas) if is_marked else self._flow.version - 1
            if not last:
                set_mark(output, 0)  # before there is anything else, so that a crash leaves a folder known as ours
            for number in (number for number in self._flow.versions_of(relation) if number > last):
                appeared, vanished = self._flow.deltas(relation, number)
                self._write_delta(appeared, vanished, output, number)
                set_mark(output, number)

    def _write(self, rows: DataFrame, output: Output, path: str) -> None:
        try:
            if _is_plain(output, path):
                target = Path(path)
                with Staging(target) as staged:
                    _writer(rows, output).save(str(staged))
                    (staged / MARK).write_text(str(self._flow.version), encoding="utf-8")
                    _swap(staged, target)
            elif output.format is Format.DELTA:
                _writer(rows, output).option("overwriteSchema", "true").save(path)
            else:
                _writer(rows, output).save(path)
        except (OSError, *SPARK_ERRORS) as reason:
            raise _unwritable(path, reason) from reason

    def _write_delta(self, appeared: DataFrame, vanished: DataFrame, output: Output, version: int) -> None:
        rows = appeared.withColumn(CHANGE, f.lit(APPEARED)).unionAll(vanished.withColumn(CHANGE, f.lit(VANISHED)))
        write_changes(rows, output, version, self._owner)


def check_folders(outputs: Iterable[Output]) -> None:
    """Raises OutputError for a folder that holds something else."""
    for output in outputs:
        for path in filter(None, (output.path, output.deltas)):
            if _is_plain(output, path):
                _check_ours(Path(path))
                _remove_left_behind(Path(path))


def write_changes(rows: DataFrame, output: Output, version: int, owner: str) -> None:
    """Adds rows that have a column `change` to the deltas of an output; a version that comes again takes its place.

    `owner` is a name for whoever counts the versions.
    """
    folder = f"version={version}"
    try:
        if _is_plain(output, output.deltas):
            target = Path(output.deltas) / folder
            with Staging(target) as staged:
                _writer(rows, output).save(str(staged))
                _swap(staged, target)
        elif output.format is Format.DELTA:
            numbered = rows.withColumn("version", f.lit(version))
            writer = numbered.write.format("delta").mode("append").options(**output.options)
            writer.option("txnAppId", owner).option("txnVersion", version).save(output.deltas)
        else:
            _writer(rows, output).save(f"{output.deltas.rstrip('/')}/{folder}")
    except (OSError, *SPARK_ERRORS) as reason:
        raise _unwritable(output.deltas, reason) from reason


def _write_arrow_delta(part: FlowRelationDelta, output: Output, version: int) -> None:
    """Writes a delta that is in the driver without a Spark job."""
    import pyarrow.parquet as pq  # takes longer to load than most of what is done here

    if not part.appeared_count and not part.vanished_count:
        return
    tables = []
    for word, rows in ((APPEARED, part.net.appeared()), (VANISHED, part.net.vanished())):
        kinds = zip(part.schema.names, part.schema.kinds, strict=True)
        carried = rows.cast(pa.schema([(name, CARRIED[kind]) for name, kind in kinds]))
        tables.append(carried.append_column(CHANGE, pa.array([word] * rows.num_rows, pa.string())))
    target = Path(output.deltas) / f"version={version}"
    try:
        with Staging(target) as staged:
            staged.mkdir(parents=True)
            pq.write_table(pa.concat_tables(tables), staged / "part-0.parquet")
            _swap(staged, target)
    except OSError as reason:
        raise _unwritable(output.deltas, reason) from reason


class Staging:
    """A folder beside `target` that is gone when the block ends, unless it was moved."""

    def __init__(self, target: Path) -> None:
        self._folder = target.with_name(f".{target.name}.{secrets.token_hex(6)}.new")

    def __enter__(self) -> Path:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        return self._folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _swap(staged: Path, target: Path) -> None:
    """Puts `staged` where `target` is. After a crash between the two renames, the next run writes it again."""
    old = target.with_name(f".{target.name}.{secrets.token_hex(6)}.old")
    if target.exists():
        os.rename(target, old)
    os.rename(staged, target)
    shutil.rmtree(old, ignore_errors=True)


def _writer(rows: DataFrame, output: Output):  # type: ignore[no-untyped-def]
    defaults = CSV_OPTIONS if output.format is Format.CSV else {}
    return rows.write.format(output.format.value).mode("overwrite").options(**{**defaults, **output.options})


def _is_plain(output: Output, path: str) -> bool:
    """Whether the output is a folder of files on a local disk."""
    return output.format is not Format.DELTA and not IS_FILE_SYSTEM.match(path)


def _check_ours(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise OutputError(
            f"{folder}: holds files that Tidelog did not write\n  hint: move them, or name another folder"
        )
    if folder.is_file():
        raise OutputError(f"{folder}: is a file\n  hint: an output is a folder of files, name another one")


def _remove_left_behind(folder: Path) -> None:
    """Removes what a process that was killed had not finished, a day later: another one may be at work just now."""
    for place in (*folder.parent.glob(f".{folder.name}.*"), *folder.glob(".version=*.*"), *folder.glob(f".{MARK}.*")):
        try:
            if UNFINISHED.search(place.name) and time() - place.stat().st_mtime > LEFT_BEHIND:
                place.unlink() if place.is_file() else shutil.rmtree(place)
        except OSError:  # it does no harm where it is
            continue


def _mark(folder: str) -> int:
    try:
        return int((Path(folder) / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0


def set_mark(output: Output, version: int) -> None:
    """Notes up to which version an output has deltas, where it is a folder of ours."""
    if not _is_plain(output, output.deltas):
        return
    folder = Path(output.deltas)
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".{MARK}.{secrets.token_hex(6)}"
    new.write_text(str(version), encoding="utf-8")
    os.replace(new, folder / MARK)


def _unwritable(path: str, reason: Exception) -> OutputError:
    return OutputError(f"{path}: cannot be written: {spark_reason(str(reason))}")
