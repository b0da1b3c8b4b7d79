"""What another program changes: takes the plans before and after, returns what must move and what is derived anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.backends.protocol import Backend, OwnRows
from tidelog.facts.change import NetDelta, difference, net_delta
from tidelog.facts.columns import empty_table
from tidelog.maintain.journal import Journal, Net
from tidelog.plan.lower import given_to
from tidelog.plan.nodes import Plan, StratumPlan
from tidelog.schema import Schema


def kept_in(relation: str, plan: Plan) -> str:
    """Where the explicit facts of `relation` are: apart from it where it has rules."""
    return given_to(relation) if given_to(relation) in plan.hidden else relation


def derives(stratum: StratumPlan) -> bool:
    """Whether a stratum has anything that follows, not only facts that were given."""
    return bool(stratum.once or stratum.first or stratum.given or stratum.closed or stratum.modules)


def strata_to_derive(before: Plan, after: Plan) -> set[int]:
    """The positions of the strata of `after` that `before` does not have as they are."""
    known = set(before.strata)
    return {
        position
        for position, stratum in enumerate(after.strata)
        if derives(stratum)
        and (
            stratum not in known
            or any(before.size_limits.get(each) != after.size_limits.get(each) for each in stratum.relations)
        )
    }


def seconds_kept(before: Plan, after: Plan, seconds: Mapping[int, float]) -> dict[int, float]:
    """How long each stratum took that is the same, by its number in `after`; `seconds` has them by that in `before`."""
    numbers = {stratum: number for number, stratum in enumerate(before.strata, start=1)}
    anew = strata_to_derive(before, after)
    return {
        position + 1: seconds[numbers[stratum]]
        for position, stratum in enumerate(after.strata)
        if position not in anew and numbers.get(stratum) in seconds
    }


def move_explicit_facts(before: Plan, after: Plan, backend: Backend, journal: Journal) -> dict[str, Net]:
    """Puts explicit facts where `after` keeps them; returns the rows that only the rules of `before` derived."""
    lost: dict[str, Net] = {}
    for relation in after.schemas.keys() & before.schemas.keys():
        was, now = kept_in(relation, before), kept_in(relation, after)
        if was != now:
            explicit = backend.facts(was)
            if now == relation:
                lost[relation] = Net(explicit.none(), backend.facts(relation).minus(explicit))
                journal.remove(was, explicit)
            else:
                journal.store(now, explicit)
    return lost


def differences(
    old: Mapping[str, Schema],
    new: Mapping[str, Schema],
    was_in: Callable[[str], OwnRows],
    is_in: Callable[[str], OwnRows],
) -> dict[str, NetDelta]:
    """What is different in each relation of two programs with the relations `old` and `new`."""
    deltas = {}
    for relation, schema in {**old, **new}.items():
        was = was_in(relation) if relation in old else empty_table(schema)
        now = is_in(relation) if relation in new else empty_table(schema)
        if old.get(relation, schema) != schema:
            delta = net_delta(now, was)
        else:
            delta = net_delta(difference(now, was), difference(was, now))
        if delta.appeared_count or delta.vanished_count:
            deltas[relation] = delta
    return deltas
