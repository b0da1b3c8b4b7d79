"""Watchers for tests: a program whose rules for `q` are watched."""

from __future__ import annotations

from tidelog.activation.location import at_location, location_at
from tidelog.activation.watch_rule import WatchRule, watch_rule
from tidelog.activation.watcher import Watcher
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.language.parser import parse
from tidelog.schema import Value


def rules_for(checked: CheckedProgram, relation: str, place: Value | None = None) -> list[WatchRule]:
    """The rules of a relation as watch rules of a place, without those that are false by their constants."""
    simple = [rule for stratum in checked.strata for rule in stratum.rules if rule.head.relation == relation]
    if place is not None:
        simple = [at_location(rule, location_at(place, checked)) for rule in simple]
    return [found for rule in simple if (found := watch_rule(rule)) is not None]


def watcher_of(text: str, place: Value | None = None) -> tuple[Watcher, CheckedProgram]:
    """A watcher of `q` over all other relations of a program, at a place."""
    checked = check(parse(text))
    watcher = Watcher()
    for name, schema in checked.schemas.items():
        if name != "q":
            watcher.add_relation(schema)
    watcher.add_watch(rules_for(checked, "q", place), checked.schemas["q"].kinds)
    return watcher, checked
