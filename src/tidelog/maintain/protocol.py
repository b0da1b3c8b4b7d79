"""What a run may use up, and who watches it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from pathlib import Path
from sys import maxsize
from typing import Protocol

from tidelog.errors import UsageError
from tidelog.plan.nodes import RulePlan, StratumPlan

CONTAINER_MEMORY = Path("/sys/fs/cgroup/memory.max")


def most_of_memory() -> int:
    """Nine tenths of the memory that this process may have: the machine's, or its container's where that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # not in a container, or in one without a limit ("max")
        memory = min(memory, int(CONTAINER_MEMORY.read_text()))
    return memory * 9 // 10


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an evaluation stops with a LimitError. All are checked after each round, time and memory also within one.

    `rounds` counts those of one stratum, `rows` all rows that the run stored, `seconds` the time of the run, and
    `memory` the bytes that the process has in use.
    """

    rounds: int = 100_000
    rows: int = 2_000_000_000
    seconds: float = 86_400.0
    memory: int = field(default_factory=most_of_memory)

    def __post_init__(self) -> None:
        for name in ("rounds", "rows", "seconds", "memory"):
            if not getattr(self, name) > 0:
                raise UsageError(f"the limit on {name} must be above 0, not {getattr(self, name)}")


UNLIMITED = Limits(rounds=maxsize, rows=maxsize, seconds=inf, memory=maxsize)


class Strategy(Enum):
    """How an update decides whether a fact in doubt stays.

    DRED looks only at rules that use nothing of the fact's stratum, so it deletes too much and brings it back.
    BACKWARD_FORWARD looks for another derivation first.
    """

    DRED = "dred"
    BACKWARD_FORWARD = "backward-forward"


@dataclass(frozen=True, slots=True)
class Maintenance:
    """How derived facts are kept true. Answers never depend on it."""

    modules: bool = True
    strategy: Strategy = Strategy.BACKWARD_FORWARD

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            names = " or ".join(f"Strategy.{each.name}" for each in Strategy)
            raise UsageError(f"the strategy must be {names}, not {self.strategy!r}")


class Observer(Protocol):
    """Hears what a run does while it does it. Strata count from 1; round 0 is the one that reads no delta."""

    def stratum_started(self, number: int, stratum: StratumPlan) -> None: ...

    def rule_ordered(self, rule: RulePlan) -> None:
        """The joins of `rule` were ordered, for the first time or because sizes have changed."""
        ...

    def rows_derived(self, number: int, round_number: int, rule: RulePlan, derived: int) -> None:
        """A round that takes long has given `derived` rows so far, `rule` the last of them."""
        ...

    def round_finished(self, number: int, round_number: int, delta: Mapping[str, int], derived: int) -> None:
        """`delta` has the new rows by relation, `derived` counts the rows that rules gave, known ones included."""
        ...

    def stratum_finished(self, number: int, rounds: int, rows: int) -> None:
        """`rows` were stored in the stratum, in `rounds` rounds."""
        ...


class Silent:
    """An observer that says nothing."""

    def stratum_started(self, number: int, stratum: StratumPlan) -> None:
        pass

    def rule_ordered(self, rule: RulePlan) -> None:
        pass

    def rows_derived(self, number: int, round_number: int, rule: RulePlan, derived: int) -> None:
        pass

    def round_finished(self, number: int, round_number: int, delta: Mapping[str, int], derived: int) -> None:
        pass

    def stratum_finished(self, number: int, rounds: int, rows: int) -> None:
        pass


SILENT = Silent()
