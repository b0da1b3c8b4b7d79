"""What a pipeline file says: where rows come from, where answers go, and how Spark is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.spark.session import SessionSettings
from tidelog.checking import check_program
from tidelog.connectors.protocol import Nulls
from tidelog.language.parser import parse_file
from tidelog.maintain.protocol import Limits
from tidelog.schema import Value

NOTHING: Mapping[str, str] = MappingProxyType({})

NullPolicy: TypeAlias = Nulls | Mapping[str, Value]
"""Refuse rows with NULL, skip them, or put a value in its place: by attribute, the others refuse."""

StateFormat: TypeAlias = Literal["auto", "parquet", "delta"]

COMPILED_ROWS = 10_000_000
"""Rows given to a program up to which its facts are kept in the driver."""


class Format(Enum):
    """A way in which Spark finds rows written down."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    DELTA = "delta"
    JDBC = "jdbc"


class Tier(Enum):
    """Where facts are kept and rules are run."""

    COMPILED = "compiled"  # in the driver, by the local engine
    SPARK = "spark"  # in DataFrames


class ChangeKind(Enum):
    """How it is known what has changed."""

    OPERATIONS = "operations"  # rows with a column that says insert or retract
    FEED = "feed"  # the change data feed of a Delta table
    SNAPSHOT = "snapshot"  # all rows as they are now, compared with those before


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that Spark can read. `columns` has what an attribute is called outside, where that differs."""

    format: Format
    path: str = ""
    options: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    columns: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    nulls: NullPolicy = Nulls.REFUSE

    def __str__(self) -> str:
        return self.path or self.options.get("dbtable") or self.options.get("query") or self.format.value


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """Where the changes of one relation come from; `before` is the older of two snapshots, if not the state's facts."""

    kind: ChangeKind
    source: Source
    operation: str = "op"
    before: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """Where the rows of a relation go, and what appeared and vanished in each version; either may be empty."""

    format: Format
    path: str = ""
    deltas: str = ""
    options: Mapping[str, str] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class StateSettings:
    path: str
    format: StateFormat = "auto"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """`tier` None leaves the choice to the size of the inputs."""

    tier: Tier | None = None
    compiled_rows: int = COMPILED_ROWS
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class FollowSettings:
    """How changes are followed. `checkpoint` and `bad_rows` are places; without the second a bad row is an error."""

    checkpoint: str
    every: float = 1.0
    files_per_batch: int = 1000
    refresh: float = 60.0
    bad_rows: str = ""


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Tuples are followed by an index in each of so many buckets, and nothing is kept but the tuples."""

    buckets: int = 16


@dataclass(frozen=True)
class Pipeline:
    """A pipeline file, read and checked; its paths are absolute or name a file system."""

    file: Path
    program: Path
    state: StateSettings
    inputs: Mapping[str, Source]
    changes: Mapping[str, ChangeSource]
    outputs: Mapping[str, Output]
    spark: SessionSettings
    engine: EngineSettings
    follow: FollowSettings
    limits: Limits
    watch: WatchSettings | None = None

    @cached_property
    def checked(self) -> CheckedProgram:
        """The program, read when somebody asks for it first."""
        return check_program(parse_file(self.program))
