"""Delta tables that are read once and then followed by their change data feed: from where to where.

Without a version to begin with, a feed starts with all rows that the table has by then, as if they were new. A row that
was deleted between the reading of the table and the start of its feed would stay for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from tidelog.backends.spark.reasons import SPARK_ERRORS
from tidelog.pipeline.config import Format, Source
from tidelog.pipeline.sources import unreadable
from tidelog.pipeline.state.opening import has_delta

FEED = "feed:"
"""Before the path of a Delta table, in the batches of a state: the version that was read of it."""

AS_OF = "versionAsOf"
_SINCE = {"startingversion", "startingtimestamp"}


def pinned(spark: SparkSession, sources: Mapping[str, Source]) -> tuple[dict[str, Source], dict[str, int]]:
    """The sources, Delta tables with a version, the one of now unless another is asked for; and those versions as
    batches of their feeds."""
    versions = {name: _version(spark, source) for name, source in sources.items()} if has_delta(spark) else {}
    known = {name: version for name, version in versions.items() if version is not None}
    found = {name: _as_of(source, known[name]) if name in known else source for name, source in sources.items()}
    return found, {f"{FEED}{sources[name].path}": version for name, version in known.items()}


def feed_options(source: Source, batches: Mapping[str, int]) -> dict[str, str]:
    """Options that read the feed of a table from the version on that the state has.

    The changes of that version itself come again, and change nothing: the one after it may not be there yet.
    """
    options = {"readChangeFeed": "true", **source.options}
    read = batches.get(f"{FEED}{source.path}")
    if read is not None and not _SINCE & {name.lower() for name in source.options}:
        options["startingVersion"] = str(read)
    return options


def _as_of(source: Source, version: int) -> Source:
    options = {name: value for name, value in source.options.items() if name.lower() != AS_OF.lower()}
    return replace(source, options={**options, AS_OF: str(version)})


def _version(spark: SparkSession, source: Source) -> int | None:
    """The version of a Delta table that is to be read; None for other sources, and where a time is asked for."""
    asked = {name.lower(): value for name, value in source.options.items()}
    if source.format is not Format.DELTA or "timestampasof" in asked:
        return None
    if AS_OF.lower() in asked:
        return int(asked[AS_OF.lower()]) if asked[AS_OF.lower()].isdecimal() else None
    table = source.path.replace("`", "``")
    try:
        return int(spark.sql(f"DESCRIBE HISTORY delta.`{table}` LIMIT 1").collect()[0]["version"])
    except SPARK_ERRORS as reason:
        raise unreadable(source, reason) from reason
