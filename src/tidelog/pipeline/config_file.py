"""Reads `pipeline.toml`: every mistake in it is reported at once, with its key and what to do."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import cast

from tidelog.backends.spark.session import HERE, SessionSettings
from tidelog.connectors.protocol import Nulls
from tidelog.errors import InputError, TidelogError
from tidelog.maintain.protocol import Limits
from tidelog.pipeline.config import (
    ChangeKind,
    ChangeSource,
    EngineSettings,
    FollowSettings,
    Format,
    NullPolicy,
    Output,
    Pipeline,
    Source,
    StateFormat,
    StateSettings,
    Tier,
    WatchSettings,
)
from tidelog.pipeline.config_fit import misfits
from tidelog.pipeline.toml_table import TomlTable

SUFFIXES = {".parquet": Format.PARQUET, ".csv": Format.CSV, ".json": Format.JSON, ".jsonl": Format.JSON}
IS_FILE_SYSTEM = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def read_pipeline(file: Path) -> Pipeline:
    """What `file` says of a program that can be run; InputError names every key that is wrong, of either."""
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as reason:
        raise InputError(f"cannot be read: {reason.strerror or reason}", str(file)) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8", str(file)) from None
    except tomllib.TOMLDecodeError as reason:
        raise InputError(f"not TOML: {reason}", str(file)) from None
    problems: list[str] = []
    pipeline = _pipeline(TomlTable(entries, "", problems), file)
    try:
        problems += misfits(pipeline)
    except TidelogError:  # the program cannot be read: what is wrong here comes first
        if not problems:
            raise
    if problems:
        raise InputError("\n".join([problems[0], *(f"{file}: {problem}" for problem in problems[1:])]), str(file))
    return pipeline


def _pipeline(table: TomlTable, file: Path) -> Pipeline:
    folder = file.resolve().parent
    program = table.required_text("program", 'the rules, as in program = "rules.dl"')
    state = _state(table, folder)
    inputs = {name: _source(one, folder) for name, one in table.tables("inputs")}
    changes = {name: _change(one, folder, inputs.get(name)) for name, one in table.tables("changes")}
    outputs = {name: _output(one, folder) for name, one in table.tables("outputs")}
    if not inputs and not table.has("watch"):
        table.report("inputs", "is missing\n  hint: add a table for each relation that is read, as in [inputs.edge]")
    pipeline = Pipeline(
        file=file,
        program=folder / program,
        state=state,
        inputs=inputs,
        changes=changes,
        outputs=outputs,
        spark=_spark(table.table("spark")),
        engine=_engine(table.table("engine")),
        follow=_follow(table.table("follow"), folder, state),
        limits=_limits(table.table("limits")),
        watch=_watch(table.table("watch")) if table.has("watch") else None,
    )
    table.done()
    return pipeline


def _state(table: TomlTable, folder: Path) -> StateSettings:
    part = table.table("state")
    path = part.required_text("path", 'a folder for what is known, as in path = "state"')
    format = part.word("format", ("auto", "parquet", "delta"), "auto")
    part.done()
    return StateSettings(place(path, folder), cast(StateFormat, format))


def _source(table: TomlTable, folder: Path) -> Source:
    source = _rows(table, folder)
    table.done()
    return source


def _rows(table: TomlTable, folder: Path, like: Source | None = None) -> Source:
    """The rows that a table names; what it leaves out is as in `like`."""
    path = table.text("path")
    format = table.choice("format", Format) or SUFFIXES.get(Path(path).suffix) or (like and like.format)
    options = table.texts("options")
    if format is Format.JDBC:
        for key in ("url",) if "dbtable" in options or "query" in options else ("url", "dbtable"):
            if key not in options:
                table.report(f"options.{key}", "is missing\n  hint: JDBC needs url, and dbtable or query")
    elif not path:
        table.report("path", "is missing\n  hint: a file or a folder, from where the pipeline file is")
    if format is None:
        names = ", ".join(repr(one.value) for one in Format)
        table.report("format", f"is missing, and the path does not say it\n  hint: one of {names}")
    columns = table.texts("columns")
    if like is not None and not table.has("columns"):
        columns = dict(like.columns)
    nulls = _nulls(table, like.nulls if like else Nulls.REFUSE)
    return Source(format or Format.PARQUET, place(path, folder), options, columns, nulls)


def _nulls(table: TomlTable, default: NullPolicy) -> NullPolicy:
    """What becomes of NULL: a word, or a table with what stands for it by attribute."""
    if table.has_table("nulls"):
        return table.values("nulls")
    return table.choice("nulls", Nulls) or default


def _change(table: TomlTable, folder: Path, like: Source | None) -> ChangeSource:
    kind = table.choice("kind", ChangeKind, ChangeKind.OPERATIONS) or ChangeKind.OPERATIONS
    source = _rows(table, folder, like)
    operation = table.text("operation", "op")
    before = place(table.text("before"), folder)
    if kind is ChangeKind.FEED and source.format is not Format.DELTA:
        table.report(
            "format", f"expected 'delta', found '{source.format.value}'\n  hint: only Delta tables have a feed"
        )
    if kind is ChangeKind.OPERATIONS and source.format in (Format.JDBC, Format.DELTA):
        table.report(
            "format",
            f"rows with an operation column are read from files, not from '{source.format.value}'\n"
            "  hint: kind = 'snapshot' compares all rows, kind = 'feed' reads the change feed of a Delta table",
        )
    if kind is not ChangeKind.OPERATIONS and table.has("operation"):
        table.report("operation", f"only kind = 'operations' has an operation column, this is '{kind.value}'")
    if kind is not ChangeKind.SNAPSHOT and before:
        table.report("before", f"only kind = 'snapshot' compares two, this is '{kind.value}'")
    table.done()
    return ChangeSource(kind, source, operation, before)


def _output(table: TomlTable, folder: Path) -> Output:
    path, deltas = table.text("path"), table.text("deltas")
    format = table.choice("format", Format) or SUFFIXES.get(Path(path).suffix, Format.PARQUET)
    output = Output(format, place(path, folder), place(deltas, folder), table.texts("options"))
    if format is Format.JDBC:
        table.report("format", "answers cannot be written to 'jdbc'\n  hint: parquet, csv, json or delta")
    if not path and not deltas:
        table.report("path", "is missing\n  hint: give path for the rows, deltas for what changes, or both")
    if path and path == deltas:
        table.report("deltas", "is the same as path\n  hint: the rows and their changes need a folder each")
    table.done()
    return output


def _spark(table: TomlTable) -> SessionSettings:
    settings = SessionSettings(
        master=table.text("master", HERE.master),
        application=table.text("application", HERE.application),
        options=table.texts("options"),
    )
    for name in settings.options:
        if not name.startswith("spark."):
            table.report(
                f"options.{name}", "is no option of Spark\n  hint: those begin with 'spark.'; write them in quotes"
            )
    table.done()
    return settings


def _engine(table: TomlTable) -> EngineSettings:
    default = EngineSettings()
    settings = EngineSettings(
        table.choice("tier", Tier),
        table.whole_number("compiled_rows", default.compiled_rows),
        table.whole_number("jobs", default.jobs),
    )
    table.done()
    return settings


def _follow(table: TomlTable, folder: Path, state: StateSettings) -> FollowSettings:
    default = FollowSettings(checkpoint=f"{state.path.rstrip('/')}.checkpoint")
    checkpoint = table.text("checkpoint")
    settings = FollowSettings(
        checkpoint=place(checkpoint, folder) if checkpoint else default.checkpoint,
        every=table.seconds("every", default.every),
        files_per_batch=table.whole_number("files_per_batch", default.files_per_batch),
        refresh=table.seconds("refresh", default.refresh),
        bad_rows=place(table.text("bad_rows"), folder),
    )
    table.done()
    return settings


def _watch(table: TomlTable) -> WatchSettings:
    settings = WatchSettings(table.whole_number("buckets", WatchSettings().buckets))
    table.done()
    return settings


def _limits(table: TomlTable) -> Limits:
    default = Limits()
    limits = Limits(
        rounds=table.whole_number("rounds", default.rounds),
        rows=table.whole_number("rows", default.rows),
        seconds=table.seconds("seconds", default.seconds) or default.seconds,
        memory=table.whole_number("memory", default.memory),
    )
    table.done()
    return limits


def place(path: str, folder: Path) -> str:
    """`path` seen from `folder`, unless it is absolute or names a file system, as `s3a://bucket` does."""
    if not path or IS_FILE_SYSTEM.match(path):
        return path
    return str(folder / path)
