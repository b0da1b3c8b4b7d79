"""The seam between what is to be computed and where: a store of tables that can run rule plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, Self, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from tidelog.facts.values import Values
from tidelog.plan.nodes import ClosedRelation, RulePlan, StratumPlan
from tidelog.plan.statistics import Statistics
from tidelog.schema import Schema
from tidelog.span import Span


class Tier(Enum):
    """How rules are run. Answers never depend on it.

    VECTORISED runs each join over batches of rows. PUSH runs a function generated for the rule, compiled before its
    first use. AUTO starts vectorised and changes over to compiled functions, made by another process, for rules that
    account for much of the time.
    """

    AUTO = "auto"
    VECTORISED = "vectorised"
    PUSH = "push"


@dataclass(frozen=True, slots=True)
class RuleCost:
    """What a rule of the user's cost so far: rows derived, how many of them were new, seconds, and the tiers it ran in,
    in that order. `why_not_pushed` says why there is no code for it, where it was asked for."""

    rule_id: int
    text: str
    span: Span
    derived: int = 0
    new: int = 0
    seconds: float = 0.0
    tiers: tuple[Tier, ...] = ()
    why_not_pushed: str | None = None

    @property
    def duplicates(self) -> int:
        """Rows derived that were known already."""
        return self.derived - self.new


Watch: TypeAlias = Callable[[RulePlan, int], None]
"""Called now and then while a rule runs, with the rows derived since the last call. It may raise to stop the run."""


def unwatched(_rule: RulePlan, _rows: int) -> None:
    """A watch that does nothing."""


@dataclass(frozen=True, slots=True)
class Derived:
    """How many rows each rule derived, by its id, and in how many rounds: more than one if rules have run ahead."""

    rows: Mapping[int, int]
    rounds: int = 1


class Facts(Protocol):
    """Different rows of one relation, stored or not, wherever the backend has them. They never change."""

    def __len__(self) -> int: ...

    def none(self) -> Self:
        """No facts, of the same relation."""
        ...

    def union(self, *others: Self) -> Self:
        """The facts of all."""
        ...

    def beside(self, *others: Self) -> Self:
        """The facts of all, which have none in common."""
        ...

    def minus(self, other: Self, /) -> Self:
        """The facts that `other` has not."""
        ...


OwnFacts: TypeAlias = Any
"""Facts that the same backend made."""


OwnRows: TypeAlias = Any
"""Rows as a backend takes and gives them, columns as in the schema: an Arrow table, or a DataFrame on Spark."""


class Tables(Protocol):
    """Tables for a program's relations. Columns of a table have the kinds of the schema (see `facts.columns`)."""

    def declare(self, schemas: Mapping[str, Schema]) -> None:
        """Makes room for relations that are not there yet."""
        ...

    def insert(self, relation: str, rows: OwnRows) -> int:
        """Adds `rows` to the stored table and returns how many were new. They count as old, not as delta."""
        ...

    def facts(self, relation: str, rows: OwnRows | None = None) -> Facts:
        """`rows` as facts of the relation, or all that are stored."""
        ...

    def stored(self, relation: str, facts: OwnFacts) -> Facts:
        """Those of `facts` that are stored."""
        ...

    def unknown(self, relation: str, facts: OwnFacts) -> Facts:
        """Those of `facts` that are not stored."""
        ...

    def lacking(self, relation: str, facts: OwnFacts) -> Facts:
        """As `unknown`, of `facts` among which all stored ones are: how many there are is known without a look."""
        ...

    def exchange(self, relation: str, came: OwnFacts, went: OwnFacts) -> None:
        """Stores facts that are not stored yet, as old ones, and removes facts that are."""
        ...

    def table(self, relation: str, facts: OwnFacts | None = None) -> OwnRows:
        """All stored rows, or those of `facts`."""
        ...

    def clear(self, relation: str) -> Facts:
        """Removes every fact of `relation`; returns them."""
        ...


class Rounds(Protocol):
    """Runs rule plans over the tables in rounds.

    `derive` stages the rows that are neither stored nor staged yet; `advance` makes what is staged the delta.
    """

    def derive(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Derived:
        """Runs each plan against what is stored and stages its new rows. A plan may be run on those that it has
        staged itself, if they are fewer than its `ahead_below`; then it does not take them up again when they are the
        delta."""
        ...

    def advance(self, relations: Sequence[str]) -> Mapping[str, int]:
        """Stores what is staged as the new delta of each relation (the former delta becomes old); its sizes."""
        ...

    def delta(self, relation: str) -> Facts:
        """The delta of `relation`."""
        ...

    def run_ahead(self, stratum: StratumPlan) -> int | None:
        """How many rows it stored, when it has derived all of a recursive stratum in a way of its own; else None.

        No relation of the stratum has rows yet. Where it is None, nothing is changed and the stratum is run in rounds.
        """
        ...

    def effort(self) -> float:
        """Seconds of work so far, counted as well as can be without the time that others took from it."""
        ...

    def statistics(self) -> Statistics:
        """What `order_joins` asks."""
        ...


class Questions(Protocol):
    """What an update asks. `mark` says what a question is about, and `collect` gives the answers and stores nothing."""

    def mark(self, relation: str, facts: OwnFacts) -> None:
        """Makes `facts` the marked rows of `relation`."""
        ...

    def oldest(self, facts: Mapping[str, OwnFacts]) -> tuple[Mapping[str, Facts], Mapping[str, Facts]]:
        """Stored facts in two parts: some that came before all the others, and the others."""
        ...

    def catch_up(self, rules: Sequence[RulePlan]) -> None:
        """Makes ready what the plans will look up: after that, what `collect` takes depends on its answers."""
        ...

    def collect(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Mapping[str, Facts]:
        """What each plan derives from what is stored and marked, by head. `catch_up` was called for the plans."""
        ...

    def unsupported(self, relation: str, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Facts:
        """The marked facts of `relation` that none of the plans derives, each of which derives marked facts only.
        `catch_up` was called for the plans."""
        ...

    def close(self, closed: ClosedRelation, came: OwnFacts, went: OwnFacts) -> tuple[Facts, Facts]:
        """Takes edges that came and went into a closure; returns the facts that appeared and vanished.

        It stores and removes them too, unless the closure has a rule for `taking` them.
        """
        ...


class Backend(Tables, Rounds, Questions, Protocol):
    """Where a program's relations are kept and its rules are run."""

    def fresh(self, schemas: Mapping[str, Schema]) -> Backend:
        """An empty backend of the same kind, where facts of this one, and of others made so, mean the same."""
        ...


Part: TypeAlias = Sequence[npt.NDArray[np.int64]]
"""Lists of columns of a row: what stands in each of them is a row of the part."""


@dataclass(frozen=True, slots=True)
class SingleJoin:
    """A plan whose rows are those `marked` under a name with each of their matches.

    The arrays are good until something is stored. The matches of a row lie side by side in `payload`, by the id in its
    column `key`, which may be too high for `starts` and `counts`: then it has none; if `key` is negative all have the
    first ones. Columns of what is derived are those that `keep` names of the marked row, or where that is negative,
    `take` of the match.
    """

    marked: str
    key: int
    starts: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    payload: npt.NDArray[np.int32]
    keep: npt.NDArray[np.int64]
    take: npt.NDArray[np.int64]


@runtime_checkable
class InProcess(Backend, Protocol):
    """A backend that has its facts in this process, as rows of ids."""

    @property
    def values(self) -> Values:
        """The values of ids."""
        ...

    def collect_parts(self, rules: Sequence[RulePlan], parts: Sequence[Part]) -> tuple[Facts, ...]:
        """The different rows of each part of what the plans derive, as `collect`; nothing where they derive nothing."""
        ...

    def single_join(self, rule: RulePlan) -> SingleJoin | None:
        """The plan as one join, None if it is something else. `catch_up` was called for it."""
        ...


def is_in_process(backend: Backend) -> TypeGuard[InProcess]:
    """Whether a backend has its facts in this process. What a protocol asks for is looked for once in each class: it
    takes as long as a join of a few rows."""
    kind = type(backend)
    if kind not in _IN_PROCESS:
        _IN_PROCESS[kind] = isinstance(backend, InProcess)
    return _IN_PROCESS[kind]


_IN_PROCESS: dict[type, bool] = {}
