"""How a retained join follows changes: formulas (1) and (2) of section 4.1, and the flags of definition 4.5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.analysis.traversal import own_names
from tidelog.language.printer import print_literal
from tidelog.language.syntax_tree import Sign
from tidelog.plan.retention.autonomy import RelationChange
from tidelog.plan.retention.expressions import Occurrence
from tidelog.plan.retention.profitable import Retained


def differentials(name: str, retained: Retained, changes: Sequence[RelationChange]) -> Iterator[str]:
    """A line for each change that touches the join `name`: the rows that it loses and gains."""
    for change in changes:
        for occurrence in retained.producer:
            if occurrence.atom.relation == change.relation:
                yield f"{change}: {_of_producer(name, retained, occurrence, change)}"
        for occurrence in retained.filters:
            if occurrence.atom.relation == change.relation:
                flag = "true" if change.sign is Sign.INSERT else "false"
                rows = f"{name} ⋈ {_delta(occurrence, change)}"
                yield f"{change}: {rows} has its flag for {occurrence.atom.relation} {flag}"


def _of_producer(name: str, retained: Retained, occurrence: Occurrence, change: RelationChange) -> str:
    if occurrence.is_negated or change.sign is Sign.DELETE:
        return f"{name} loses {name} ⋈ {_delta(occurrence, change)}"
    others = own_names(other.atom for other in retained.producer if other is not occurrence)
    kept = ", ".join(sorted(others))
    return f"{name} gains π({kept}) {name} ⋈ {_delta(occurrence, change)}"


def _delta(occurrence: Occurrence, change: RelationChange) -> str:
    return f"Δ{change.sign.value}{print_literal(occurrence.atom)}"
