"""What a measurement is made of."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass


class Clock:
    """Wall-clock seconds between laps."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the last lap, or since the clock was made."""
        now = time.perf_counter()
        taken, self.began = now - self.began, now
        return taken


@dataclass(frozen=True, slots=True)
class Timed:
    """What one run of a workload took, and the rows of each relation it was asked for."""

    load_seconds: float
    evaluation_seconds: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A timed run, the seconds until the system was ready for it, and the bytes it took above what it held then."""

    ready_seconds: float
    load_seconds: float
    evaluation_seconds: float
    peak_bytes: int
    counts: Mapping[str, int]

    @property
    def seconds(self) -> float:
        return self.ready_seconds + self.load_seconds + self.evaluation_seconds
