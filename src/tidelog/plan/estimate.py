"""How many rows a body will have after each step, guessed from counts of stored rows.

The classic assumptions (Selinger et al., 1979): values are spread evenly, and of two joined columns the one with fewer
values has none that the other lacks. Guesses only rank join orders; answers never depend on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
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
from tidelog.plan.same import forgetful
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

MEETINGS_KEPT = 1 << 9
"""More than a search among seven sources meets."""


class Prefix(NamedTuple):
    """The first steps of a join order, as numbers: `rows` come out, `cost` rows were touched on the way.

    `joined` has a bit for each source in it. `values` guesses how many different values each bound name has: which
    names are bound follows from what is joined, whatever the order. `waiting` are the tests not placed yet.
    """

    order: tuple[int, ...]
    joined: int
    rows: float
    cost: float
    values: Mapping[str, float]
    waiting: tuple[Operation, ...]


ALONE = Prefix((), -1, 1.0, 0.0, {}, ())
"""One row without names, before any test gives it some."""


@dataclass(frozen=True, slots=True)
class ScanColumns:
    """A scan without its age, its columns that are constants, and its other columns with their names: those that have
    stood in an earlier one too are `repeated`."""

    scan: Scan
    constant: tuple[int, ...]
    named: tuple[tuple[int, str], ...]
    repeated: frozenset[int]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A scan that is joined to rows with certain names: the places at which it is looked up, which of its names these
    rows have and, of those, which other sources have too, and how much of an index has to be made for each row."""

    places: tuple[int, ...]
    met: tuple[str, ...]
    shared: tuple[str, ...]
    upkeep: float


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
        self._meetings: dict[tuple[int, int], Meeting] = {}
        self._following: dict[int, tuple[int, ...]] = {}

    def remaining(self, prefix: Prefix) -> list[int]:
        """The sources not joined yet whose own needs are bound."""
        bound = prefix.values.keys()
        return [
            position
            for position, needed in enumerate(self.needs)
            if not prefix.joined >> position & 1 and (not needed or needed <= bound)
        ]

    def following(self, prefix: Prefix) -> tuple[int, ...]:
        """The sources that may come next: those that share a name with the rows so far, before any product."""
        found = self._following.get(prefix.joined)
        if found is None:
            found = forgetful(self._following, MEETINGS_KEPT)[prefix.joined] = tuple(self._found_following(prefix))
        return found

    def _found_following(self, prefix: Prefix) -> list[int]:
        left = self.remaining(prefix)
        if not prefix.order or len(left) < 2:
            return left
        connected = [position for position in left if self.fit_anywhere[position] or self.is_met(position, prefix)]
        return connected or left

    def is_met(self, position: int, prefix: Prefix) -> bool:
        """Whether a source shares a name with the rows so far."""
        return not self.columns[position].isdisjoint(prefix.values)

    def meeting(self, position: int, prefix: Prefix) -> Meeting:
        """What can be said about a scan that is joined to the rows so far."""
        key = position, prefix.joined
        found = self._meetings.get(key)
        if found is None:
            found = forgetful(self._meetings, MEETINGS_KEPT)[key] = self._new_meeting(position, prefix.values)
        return found

    def _new_meeting(self, position: int, known: Container[str]) -> Meeting:
        about = self.scans[position]
        bound = [place for place, name in about.named if name in known or place in about.repeated]
        met = tuple(dict.fromkeys(name for _, name in about.named if name in known))
        shared = tuple(name for name in met if name in self.shared)
        return Meeting(tuple(sorted((*about.constant, *bound))), met, shared, self._upkeep(position, known))

    def _upkeep(self, position: int, known: Container[str]) -> float:
        """What it costs for each row of a scan to make it ready to be looked up. Indexes of stored rows stay from round
        to round."""
        source = self.all[position]
        assert isinstance(source, Scan)
        fixed = sum(isinstance(column, Constant) or column in known for column in source.columns)
        if fixed in (0, len(source.columns)):
            return 0.0  # every row is read, or a whole row is looked up among the stored rows themselves
        if source.version is Version.DELTA:
            return INDEX_UPKEEP
        return 0.0 if self.has_delta else 0.25


class CountedScan(NamedTuple):
    """A scan, and what is known about it wherever it stands in an order: its rows, how many values its constants have,
    how many each name has in the whole relation, how many in these rows at most, and how many its columns at some
    places have together for each value of the constants, as far as that was asked."""

    about: ScanColumns
    rows: float
    per_constant: float
    values: Mapping[str, float]
    at_most: Mapping[str, float]
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
        return Prefix((), 0, rows, 0.0, values, waiting)

    def step(self, prefix: Prefix, position: int) -> Prefix:
        """`prefix` with the source at `position` joined to it and every test that this makes possible."""
        matches, values, prepared = self._matches(position, prefix)
        rows = joined = prefix.rows * matches
        waiting = prefix.waiting
        if waiting:
            rows, values, waiting = self._tested(joined, values, waiting)
        # A product with a test right above it can run as an ordered join, which never sees the rows it refuses.
        produced = joined if not prefix.order or self.sources.is_met(position, prefix) else rows
        cost = prefix.cost + (prefix.rows + prepared) + produced
        return Prefix((*prefix.order, position), prefix.joined | 1 << position, rows, cost, values, waiting)

    def rows(self, position: int) -> float:
        """How many rows the source at `position` has on its own."""
        return self._matches(position, ALONE)[0]

    def _matches(self, position: int, prefix: Prefix) -> tuple[float, dict[str, float], float]:
        """How many rows of a source each row of `prefix` meets, how many values each name has then if no test comes
        between, and what it costs to make the source ready."""
        source = self.sources.all[position]
        match source:
            case Scan():
                return self._scan_matches(position, prefix)
            case Range(name=name):
                return RANGE_ROWS, {**prefix.values, name: RANGE_ROWS}, 0.0
            case Values(columns, rows=rows):
                return *shared_matches(float(len(rows)), columns, prefix), 0.0
            case Distinct(_, columns) | Union(_, columns):
                return *shared_matches(self._sizes[position], columns, prefix), 0.0
            case _:
                assert_never(source)

    def _scan_matches(self, position: int, prefix: Prefix) -> tuple[float, dict[str, float], float]:
        counted, meeting = self._scans[position], self.sources.meeting(position, prefix)
        rows, known = counted.rows, prefix.values
        here = counted.different.get(meeting.places)
        if here is None:
            here = self._different(counted.about.scan, meeting.places) / counted.per_constant
            counted.different[meeting.places] = here
        there = min(prefix.rows, prod([known[name] for name in meeting.met])) if meeting.met else 1.0
        values = {**known, **counted.at_most}
        for name in meeting.shared:
            values[name] = min(known[name], counted.values[name])
        return rows / counted.per_constant / max(1.0, here, there), values, meeting.upkeep * rows

    def _counted(self, about: ScanColumns) -> CountedScan:
        scan, shared = about.scan, self.sources.shared
        rows = float(self._statistics.rows(scan.relation, scan.version))
        values = {name: self._different(scan, (place,)) if name in shared else rows for place, name in about.named}
        at_most = {name: min(rows, number) for name, number in values.items()}
        return CountedScan(about, rows, self._different(scan, about.constant), values, at_most, {})

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
    """Matches of a source about whose columns nothing is known but their number of rows, and the values of names
    then."""
    shared = any(column in prefix.values for column in columns)
    return (min(1.0, rows) if shared else rows), {**prefix.values, **dict.fromkeys(columns, rows)}


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
