"""What a pipeline keeps between runs: tables with versions, each version committed whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

Rows: TypeAlias = pa.Table | DataFrame
"""Different rows of one relation: Arrow in the driver (written without a Spark job), or a DataFrame.

The columns are of the types that `facts.columns` and `backends.spark.types` give to the kinds, without nulls.
"""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Replaced:
    """`rows` are the whole table from now on."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Changed:
    """The exact net delta of a table: no row of `added` was in it, every row of `removed` was, no row is in both.

    `whole` gives all rows that it has afterwards, where they are at hand.
    """

    added: Rows | None = None
    removed: Rows | None = None
    whole: Callable[[], Rows] | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """One version to be: what happens to which tables. Tables that are not named stay as they are.

    `batches` has the last batch taken from each stream, so that a batch that comes again is known; streams that are not
    named keep theirs. `fingerprint` names the program, which is that of the last version unless the commit `begins`
    anew: then nothing stays of that version but the tables that are `Replaced`, and the streams that are named.
    """

    tables: Mapping[str, Replaced | Changed]
    fingerprint: str
    batches: Mapping[str, int] = field(default_factory=lambda: NOTHING)
    note: str = ""
    metrics: Mapping[str, float] = field(default_factory=lambda: NOTHING)
    begins: bool = False


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """A committed version; `tables` has the number of rows of each."""

    number: int
    committed_at: datetime
    fingerprint: str
    tables: Mapping[str, int]
    batches: Mapping[str, int]
    note: str
    metrics: Mapping[str, float]


class StateStore(Protocol):
    """The tables of a pipeline at each of its versions.

    `address` says where they are. Raises `StateError` where the state cannot be read or written, `UsageError` for a
    table or version that is not there.
    """

    address: str

    def last(self) -> VersionInfo | None:
        """The last version; None before the first commit."""
        ...

    def versions(self) -> Sequence[VersionInfo]:
        """The versions that are kept, the oldest first; none before the first commit."""
        ...

    def read(self, table: str, version: int | None = None) -> DataFrame:
        """The rows of `table` at `version`, or at the last one."""
        ...

    def read_arrow(self, table: str, version: int | None = None) -> pa.Table:
        """The same rows in the driver, for a table that fits."""
        ...

    def deltas(self, table: str, version: int) -> tuple[DataFrame, DataFrame]:
        """The rows that `version` added to `table` and those it removed."""
        ...

    def commit(self, commit: Commit, after: int | None) -> VersionInfo:
        """The new version. `after` is the version it builds on, None for the first; raises `ConflictError` if that is
        not the last one any more, and then nothing has changed."""
        ...

    def clean(self, keep: int) -> Sequence[int]:
        """The numbers of the versions forgotten: all but the last `keep`. Removes what no version needs."""
        ...
