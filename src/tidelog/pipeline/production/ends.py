"""What a run of production rules on Spark leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Ends:
    """How the facts at the end of a run differ from those at its start, by relation, columns as they are stored."""

    came: Mapping[str, DataFrame]
    went: Mapping[str, DataFrame]
