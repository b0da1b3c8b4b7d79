"""How a recursive stratum is shared among partitions: takes its plan and the sizes of relations, returns a choice.

Data reduction: every partition runs the same program on less data. Which strategy is taken changes how long it takes,
never the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from tidelog.analysis.checked import ClosureKind
from tidelog.errors import UsageError
from tidelog.language.syntax_tree import Call, Cast, Term
from tidelog.plan.closure_rules import with_rules
from tidelog.plan.nodes import ClosedRelation, Plan, RulePlan, StratumPlan
from tidelog.plan.placement import (
    EVERYWHERE,
    UNKNOWN_SIZE,
    WHOLE_ROW,
    Placement,
    copied_rows,
    place_alone,
    place_preserved,
    place_rounds,
)
from tidelog.plan.walk import nodes_of, scans_of, terms_of
from tidelog.schema import Schema


class Strategy(Enum):
    """Who runs which instantiations of the rules, and when facts are exchanged.

    ALONE: one task has all of the stratum. PRESERVED: rows never leave the partition where they are derived, so one
    stage runs to the fixpoint. SYNCHRONOUS: one exchange for each round. ASYNCHRONOUS: a partition runs ahead to its
    own fixpoint before the next exchange. FRAMES: no reduction, a DataFrame plan for each round.
    """

    ALONE = "alone"
    PRESERVED = "preserved"
    SYNCHRONOUS = "synchronous"
    ASYNCHRONOUS = "asynchronous"
    FRAMES = "frames"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Sizes in rows by which a strategy is chosen.

    `few` are not worth sharing where sharing is easy, `one_task` are not worth the exchanges of rounds, and more than
    `everywhere` are not copied to each partition.
    """

    few: int = 20_000
    one_task: int = 2_000_000
    everywhere: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Reduction:
    """The strategy for a stratum, with a reason in words. `stratum` is what it is for, in a form that has rules where
    the strategy needs them. Where a module computes the relation, `columns` are those that share out its rows, none for
    one partition, and there is no placement. `weighed` are columns whose values may be so unequally frequent that it is
    worth counting them.
    """

    strategy: Strategy
    stratum: StratumPlan
    partitions: int
    reason: str
    placement: Placement | None = None
    columns: tuple[int, ...] = ()
    weighed: tuple[tuple[str, int], ...] = ()


def choose(
    stratum: StratumPlan,
    plan: Plan,
    sizes: Mapping[str, int],
    *,
    partitions: int = 2,
    forced: Strategy | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008  frozen
) -> Reduction:
    """How to evaluate a recursive stratum. `sizes` has the rows of the relations that it reads, as far as known.

    Raises UsageError if the strategy that is `forced` cannot be had for this stratum.
    """
    schemas = {**plan.schemas, **plan.hidden}
    obstacle = _obstacle(stratum, plan)
    if obstacle is not None:
        strategy, reason = obstacle
        if forced not in (None, strategy, Strategy.FRAMES):
            raise UsageError(f"{_name(stratum)} cannot be evaluated by the strategy {forced.value}: {reason}")
        return Reduction(forced or strategy, stratum, 1, reason, place_alone(stratum))
    if forced is Strategy.FRAMES:
        return Reduction(forced, stratum, partitions, "asked for")
    if stratum.closed is not None:
        return _choose_for_closure(stratum, stratum.closed, schemas, sizes, partitions, forced, bounds)
    return _choose_for_rules(stratum, schemas, sizes, partitions, forced, bounds)


def print_reduction(reduction: Reduction) -> str:
    """A line about a choice: `asynchronous: …`."""
    return f"{reduction.strategy.value}: {reduction.reason}"


def _choose_for_rules(
    stratum: StratumPlan,
    schemas: Mapping[str, Schema],
    sizes: Mapping[str, int],
    partitions: int,
    forced: Strategy | None,
    bounds: Bounds,
) -> Reduction:
    rows = _rows_read(stratum, sizes)
    by_rules = with_rules(stratum, schemas)
    preserved = place_preserved(by_rules, schemas, sizes)
    strategy = forced
    if strategy is None:
        strategy = _by_size(rows, preserved, sizes, bounds)
    match strategy:
        case Strategy.ALONE:
            return Reduction(strategy, stratum, 1, _about_one_task(rows, forced), place_alone(stratum))
        case Strategy.PRESERVED:
            if preserved is None:
                raise UsageError(
                    f"{_name(stratum)} cannot be evaluated by the strategy preserved: no variable stands in the same "
                    "column of the head and of every recursive atom of each rule; take synchronous or asynchronous"
                )
            reason, weighed = _about_preserved(preserved, schemas), _weighed(preserved, rows, bounds)
            return Reduction(strategy, by_rules, partitions, reason, preserved, weighed=weighed)
        case _:
            placed = place_rounds(by_rules, schemas, sizes, partitions)
            reason, weighed = _about_rounds(placed, preserved, schemas), _weighed(placed, rows, bounds)
            return Reduction(strategy, by_rules, partitions, reason, placed, weighed=weighed)


def _by_size(rows: int, preserved: Placement | None, sizes: Mapping[str, int], bounds: Bounds) -> Strategy:
    if rows <= (bounds.one_task if preserved is None else bounds.few):
        return Strategy.ALONE
    if preserved is not None and copied_rows(preserved, sizes) <= bounds.everywhere:
        return Strategy.PRESERVED
    return Strategy.ASYNCHRONOUS


def _choose_for_closure(
    stratum: StratumPlan,
    closed: ClosedRelation,
    schemas: Mapping[str, Schema],
    sizes: Mapping[str, int],
    partitions: int,
    forced: Strategy | None,
    bounds: Bounds,
) -> Reduction:
    rows = sizes.get(closed.edges, UNKNOWN_SIZE)
    group = closed.closure
    if group.kind is ClosureKind.SYMMETRIC:
        return _choose_for_components(stratum, closed, rows, partitions, forced, bounds)
    strategy = forced
    if strategy is None:
        shared = Strategy.PRESERVED if group.group or rows <= bounds.everywhere else Strategy.ASYNCHRONOUS
        strategy = Strategy.ALONE if rows <= bounds.few else shared
    match strategy:
        case Strategy.ALONE:
            return Reduction(strategy, stratum, 1, f"closure in one task: {_about_one_task(rows, forced)}")
        case Strategy.PRESERVED:
            columns = group.group or (group.source,)
            where = _columns_text(schemas[group.relation], columns)
            how = "each has the edges of its groups" if group.group else "each has all edges"
            reason = f"closure shared out by {where}; {how}"
            keys = columns if len(group.group) == 1 and rows > bounds.few else ()
            weighed = tuple((closed.edges, key) for key in keys)
            return Reduction(strategy, stratum, partitions, reason, columns=columns, weighed=weighed)
        case _:
            by_rules = with_rules(stratum, schemas)
            placed = place_rounds(by_rules, schemas, sizes, partitions)
            reason = "too many edges to copy them to each partition" if forced is None else "asked for"
            weighed = _weighed(placed, rows, bounds)
            return Reduction(strategy, by_rules, partitions, f"closure by rules: {reason}", placed, weighed=weighed)


def _choose_for_components(
    stratum: StratumPlan, closed: ClosedRelation, rows: int, partitions: int, forced: Strategy | None, bounds: Bounds
) -> Reduction:
    group = closed.closure
    if forced is Strategy.ALONE or (forced is None and rows <= bounds.one_task):
        reason = f"components in one task: {_about_one_task(rows, forced)}"
        return Reduction(Strategy.ALONE, stratum, 1, reason)
    if forced is Strategy.PRESERVED and not group.group:
        raise UsageError(
            f"{_name(stratum)} cannot be evaluated by the strategy preserved: it has no columns beside those that are "
            "closed; take asynchronous"
        )
    strategy = forced or (Strategy.PRESERVED if group.group else Strategy.ASYNCHRONOUS)
    how = "by group" if strategy is Strategy.PRESERVED else "partitions join what they have, then exchange names"
    columns = group.group if strategy is Strategy.PRESERVED else ()
    keys = (group.source, group.target) if not columns else columns if len(columns) == 1 else ()
    weighed = tuple((closed.edges, key) for key in keys) if rows > bounds.few else ()
    return Reduction(strategy, stratum, partitions, f"components: {how}", columns=columns, weighed=weighed)


def _obstacle(stratum: StratumPlan, plan: Plan) -> tuple[Strategy, str] | None:
    """What leaves no choice, and the strategy that is left."""
    if any(_asks_for_ord(term) for rule in _rules(stratum) for node in nodes_of(rule.node) for term in terms_of(node)):
        return Strategy.FRAMES, "ord must give the same number in every partition"
    limited = [name for name in stratum.relations if name in plan.size_limits]
    if limited:
        return Strategy.ALONE, f"where rounds stop depends on the size of {limited[0]}"
    return None


def _asks_for_ord(term: Term) -> bool:
    match term:
        case Call(function, arguments):
            return function == "ord" or any(map(_asks_for_ord, arguments))
        case Cast(inner):
            return _asks_for_ord(inner)
        case _:
            return False


def _rules(stratum: StratumPlan) -> Iterator[RulePlan]:
    yield from (*stratum.given, *stratum.once, *stratum.first)


def _weighed(placement: Placement, rows: int, bounds: Bounds) -> tuple[tuple[str, int], ...]:
    return tuple((name, way) for name, way in placement.copies() if way >= 0) if rows > bounds.few else ()


def _rows_read(stratum: StratumPlan, sizes: Mapping[str, int]) -> int:
    names = {scan.relation for rule in _rules(stratum) for scan in scans_of(rule.node)}
    lower = sum(sizes.get(name, UNKNOWN_SIZE) for name in names.difference(stratum.relations))
    return lower + sum(sizes.get(name, 0) for name in stratum.relations)


def _name(stratum: StratumPlan) -> str:
    return f"the stratum of {', '.join(stratum.relations)}"


def _about_one_task(rows: int, forced: Strategy | None) -> str:
    return f"it reads {rows:,} rows" if forced is None else "asked for"


def _about_preserved(placement: Placement, schemas: Mapping[str, Schema]) -> str:
    owners = [f"{name} by {_columns_text(schemas[name], (way,))}" for name, way in placement.owners.items()]
    return f"no row leaves its partition: {', '.join(owners)}{_about_copies(placement, schemas)}"


def _about_rounds(placement: Placement, preserved: Placement | None, schemas: Mapping[str, Schema]) -> str:
    ways = [
        f"{name} by {' and by '.join(_columns_text(schemas[name], (way,)) for way in placement.ways[name])}"
        for name in placement.derived
    ]
    why = "no variable is preserved" if preserved is None else "rows could stay where they are"
    return f"{why}; {', '.join(ways)}{_about_copies(placement, schemas)}"


def _about_copies(placement: Placement, schemas: Mapping[str, Schema]) -> str:
    parts = [
        f"{name} by {_columns_text(schemas[name], (way,))}" for name, way in placement.copies() if way != EVERYWHERE
    ]
    everywhere = [name for name, way in placement.copies() if way == EVERYWHERE]
    text = f"; reads {', '.join(parts)}" if parts else ""
    return f"{text}; each partition has all of {', '.join(everywhere)}" if everywhere else text


def _columns_text(schema: Schema, columns: tuple[int, ...]) -> str:
    match columns:
        case (column,) if column == WHOLE_ROW:
            return "row"
        case (column,) if column == EVERYWHERE:
            return "copies for all"
        case _:
            return ", ".join(schema.names[column] for column in columns)
