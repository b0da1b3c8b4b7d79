"""How many rows a body will have after each step, guessed from counts of stored rows.

The classic assumptions (Selinger et al., 1979): values are spread evenly, and of two joined columns the one with fewer
values has none that the other lacks. Guesses only rank join orders; answers never depend on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, assert_never

from tidelog.language.syntax_tree import Comparison, ComparisonOperator, Constant, Test
from tidelog.plan.nodes import (
    AGE,
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Range,
    Scan,
    Select,
    Union,
    Values,
    Version,
)
from tidelog.plan.spine import UNIT, Operation, Source, is_ready, needs, put
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import columns_of

RANGE_ROWS = 16.0
EQUAL_SHARE = 0.1
COMPARISON_SHARE = 0.3
UNEQUAL_SHARE = 0.9
TEST_SHARE = 0.25
ANTIJOIN_SHARE = 0.7
INDEX_UPKEEP = 4.0


class Prefix(NamedTuple):
    """The first steps of a join order, as numbers: `rows` come out, `cost` rows were touched on the way.

    `values` guesses how many different values each bound name has; `waiting` are the tests not placed yet.
    """

    order: tuple[int, ...]
    rows: float
    cost: float
    values: Mapping[str, float]
    waiting: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class ScanColumns:
    """A scan without its age, its columns that are constants, and its other columns with their names: those that have
    stood in an earlier one too are `repeated`."""

    scan: Scan
    constant: tuple[int, ...]
    named: tuple[tuple[int, str], ...]
    repeated: frozenset[int]


class Sources:
    """The sources of one body, and what can be said about them before anything is counted."""

    def __init__(self, sources: tuple[Source, ...]) -> None:
        self.all = sources
        self.columns = tuple(frozenset(columns_of(source)) - {AGE} for source in sources)
        self.needs = tuple(map(needs, sources))
        self.fit_anywhere = tuple(
            isinstance(source, Range) or not columns for source, columns in zip(sources, self.columns, strict=True)
        )
        """Which of them are no product, whatever stands before them."""
        places = Counter(name for columns in self.columns for name in columns)
        self.shared = frozenset(name for name, count in places.items() if count > 1)
        self.has_delta = any(
            isinstance(each, Scan) and each.version in (Version.DELTA, Version.MARKED) for each in sources
        )
        self.scans = {at: scan_columns(each) for at, each in enumerate(sources) if isinstance(each, Scan)}


@dataclass(frozen=True, slots=True)
class CountedScan:
    """A scan, and what is known about it wherever it stands in an order: its rows, how many values its constants have,
    how many each name has, and how many its columns at some places have together, as far as that was asked."""

    about: ScanColumns
    rows: float
    per_constant: float
    values: Mapping[str, float]
    different: dict[tuple[int, ...], float]


class Estimator:
    """Costs of steps for the sources of one body. Asks the statistics for each count once.

    `sizes` has the number of rows of each source that is a body of its own, by its position.
    """

    def __init__(self, sources: Sources, sizes: Mapping[int, float], statistics: Statistics) -> None:
        self.sources = sources
        self._sizes = sizes
        self._statistics = statistics
        self._distinct: dict[tuple[str, tuple[int, ...]], float] = {}
        self._scans = {at: self._counted(each) for at, each in sources.scans.items()}

    def start(self, others: tuple[Operation, ...]) -> Prefix:
        """The empty order: one row, with what can be said about it already."""
        rows, values, waiting = self._tested(1.0, {}, others)
        return Prefix((), rows, 0.0, values, waiting)

    def step(self, prefix: Prefix, position: int) -> Prefix:
        """`prefix` with the source at `position` joined to it and every test that this makes possible."""
        matches, values = self._matches(position, prefix)
        order, joined = (*prefix.order, position), prefix.rows * matches
        rows, values, waiting = self._tested(joined, {**prefix.values, **values}, prefix.waiting)
        connected = not prefix.order or not self.sources.columns[position].isdisjoint(prefix.values)
        # A product with a test right above it can run as an ordered join, which never sees the rows it refuses.
        produced = joined if connected else rows
        read = prefix.rows + self._preparation(position, prefix)
        return Prefix(order, rows, prefix.cost + read + produced, values, waiting)

    def rows(self, position: int) -> float:
        """How many rows the source at `position` has on its own."""
        return self._matches(position, Prefix((), 1.0, 0.0, {}, ()))[0]

    def _matches(self, position: int, prefix: Prefix) -> tuple[float, dict[str, float]]:
        """How many rows of a source each row of `prefix` meets, and what that says about values of names."""
        source = self.sources.all[position]
        match source:
            case Scan():
                return self._scan_matches(self._scans[position], prefix)
            case Range(name=name):
                return RANGE_ROWS, {name: RANGE_ROWS}
            case Values(columns, rows=rows):
                return shared_matches(float(len(rows)), columns, prefix)
            case Distinct(_, columns) | Union(_, columns):
                return shared_matches(self._sizes[position], columns, prefix)
            case _:
                assert_never(source)

    def _counted(self, about: ScanColumns) -> CountedScan:
        scan, shared = about.scan, self.sources.shared
        rows = float(self._statistics.rows(scan.relation, scan.version))
        values = {name: self._different(scan, (place,)) if name in shared else rows for place, name in about.named}
        return CountedScan(about, rows, self._different(scan, about.constant), values, {})

    def _scan_matches(self, counted: CountedScan, prefix: Prefix) -> tuple[float, dict[str, float]]:
        known, about, rows = prefix.values, counted.about, counted.rows
        bound = tuple([place for place, name in about.named if name in known or place in about.repeated])
        here = counted.different.get(bound)
        if here is None:
            places = tuple(sorted((*about.constant, *bound)))
            here = counted.different[bound] = self._different(about.scan, places) / counted.per_constant
        outside = {name for _, name in about.named if name in known} if bound else None
        there = min(prefix.rows, prod([known[name] for name in outside])) if outside else 1.0
        shared = self.sources.shared
        values = {
            name: min(known.get(name, rows), number) if name in shared else rows
            for name, number in counted.values.items()
        }
        return rows / counted.per_constant / max(1.0, here, there), values

    def _different(self, scan: Scan, places: tuple[int, ...]) -> float:
        """How many different values the columns at `places` have together."""
        if not places:
            return 1.0
        if len(places) == len(scan.columns):
            return max(1.0, float(self._statistics.rows(scan.relation, Version.FULL)))
        key = (scan.relation, places)
        if key not in self._distinct:
            self._distinct[key] = max(1.0, float(self._statistics.distinct(scan.relation, places)))
        return self._distinct[key]

    def _preparation(self, position: int, prefix: Prefix) -> float:
        """What it costs to make the source ready to be looked up. Indexes of stored rows stay from round to round."""
        source = self.sources.all[position]
        if not isinstance(source, Scan):
            return 0.0
        fixed = sum(isinstance(column, Constant) or column in prefix.values for column in source.columns)
        if fixed in (0, len(source.columns)):
            return 0.0  # every row is read, or a whole row is looked up among the stored rows themselves
        if source.version is Version.DELTA:
            return INDEX_UPKEEP * self._scans[position].rows
        return 0.0 if self.sources.has_delta else 0.25 * self._scans[position].rows

    def _tested(
        self, rows: float, values: dict[str, float], waiting: tuple[Operation, ...]
    ) -> tuple[float, dict[str, float], tuple[Operation, ...]]:
        """Rows and values with every waiting part placed that the names allow, and the parts that still wait."""
        while ready := next((part for part in waiting if is_ready(part, values.keys())), None):
            waiting = tuple(part for part in waiting if part is not ready)
            match put(ready, UNIT, values.keys()):
                case Extend(name=name) | GroupJoin(name=name):
                    values[name] = rows
                case Select(condition=condition):
                    rows *= condition_share(condition)
                case Antijoin():
                    rows *= ANTIJOIN_SHARE
        return rows, values, waiting


def scan_columns(scan: Scan) -> ScanColumns:
    """What the columns of `scan` are."""
    scan = without_age(scan)
    columns = scan.columns
    constant = tuple(place for place, column in enumerate(columns) if isinstance(column, Constant))
    named = tuple((place, column) for place, column in enumerate(columns) if isinstance(column, str))
    return ScanColumns(scan, constant, named, frozenset(place for place, name in named if name in columns[:place]))


def without_age(scan: Scan) -> Scan:
    """`scan` without the column that is not the relation's: about its values nothing is known."""
    return replace(scan, columns=scan.columns[:-1]) if scan.columns[-1:] == (AGE,) else scan


def shared_matches(rows: float, columns: tuple[str, ...], prefix: Prefix) -> tuple[float, dict[str, float]]:
    """Matches of a source about whose columns nothing is known but their number of rows."""
    shared = any(column in prefix.values for column in columns)
    return (min(1.0, rows) if shared else rows), dict.fromkeys(columns, rows)


def condition_share(condition: Comparison | Test) -> float:
    """The share of rows that a test lets through."""
    match condition:
        case Comparison(ComparisonOperator.EQUAL):
            return EQUAL_SHARE
        case Comparison(ComparisonOperator.NOT_EQUAL):
            return UNEQUAL_SHARE
        case Comparison():
            return COMPARISON_SHARE
        case _:
            return TEST_SHARE
