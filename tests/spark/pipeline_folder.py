"""The folder of a pipeline, from within: its commands, the changes put into it, and what is in its outputs."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidelog.cli.main import main
from tidelog.pipeline.config_file import read_pipeline
from tidelog.pipeline.status import versions


def pipeline(action: str, *others: str) -> int:
    """The exit code of a command."""
    return main(["pipeline", action, "pipeline.toml", *others])


def change(name: str, text: str, age: float = 0) -> None:
    """A file of changes that appears whole, and that many seconds old."""
    hidden = Path("changes", f".{name}")
    hidden.write_text(text)
    seconds = hidden.stat().st_mtime - age
    os.utime(hidden, (seconds, seconds))
    hidden.rename(Path("changes", name))


def rows_in(folder: str) -> set[tuple[object, ...]]:
    """The rows of an output."""
    tables = [pq.ParquetFile(file).read() for file in Path(folder).glob("*.parquet")]
    return {tuple(row.values()) for row in pa.concat_tables(tables).to_pylist()}


def version() -> int:
    """The last version of the state."""
    return versions(read_pipeline(Path("pipeline.toml")))[-1].number
