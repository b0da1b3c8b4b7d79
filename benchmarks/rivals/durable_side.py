"""durable_rules' side of a problem: `python -m benchmarks.rivals.durable_side PROBLEM FACTS REPEAT` prints its outcome.

Runs in whatever interpreter has durable_rules, and needs nothing of Tidelog.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from time import process_time
from typing import Any

from durable import lang

from benchmarks.rivals.durable_programs import fact, state_channels, state_manners, state_waltz
from benchmarks.rivals.outcome import Run, print_outcome
from benchmarks.rivals.problems import FORMS, OPPOSITE, Facts, Row

BATCH = 1_000
COLUMNS = {
    "guest": ("party", "name", "sex", "hobby"),
    "seats": ("party", "number"),
    "line": ("start", "end", "direction"),
    "known": ("start", "end", "label"),
    "near": ("x", "z"),
    "arriving": ("x", "z"),
    "use": ("x", "z"),
    "request": ("z", "y"),
}
_numbers = count()


def manners(facts: Facts) -> Run:
    """Parties seated by a program that says where its search is."""
    name = state_manners(f"manners{next(_numbers)}")
    start = [fact("phase", party=party, step="start") for party, _ in facts["seats"]]
    clock = process_time()
    give(name, [*messages("guest", facts["guest"]), *messages("seats", facts["seats"])])
    loaded = process_time()
    give(name, start)
    done = process_time()

    def rows() -> Iterator[Row]:
        held = lang.get_facts(name)
        ends = {(phase["party"], phase.get("at")) for phase in held if phase["kind"] == "phase"}
        for path in (each for each in held if each["kind"] == "path"):
            if (path["party"], path["seating"]) in ends:
                yield path["party"], path["seat"], path["guest"]

    return Run(loaded - clock, done - loaded, rows)


def waltz(facts: Facts) -> Run:
    """The labels that lines may have."""
    name = state_waltz(f"waltz{next(_numbers)}")
    clock = process_time()
    give(name, [*dictionary(), *messages("known", facts["known"]), *messages("line", facts["line"])])
    loaded = process_time()
    give(name, [fact("stage", step="edges")])
    done = process_time()
    found = ((may["start"], may["end"], may["label"]) for may in lang.get_facts(name) if may["kind"] == "may")
    return Run(loaded - clock, done - loaded, lambda: found)


def watch_one_by_one(facts: Facts) -> Run:
    """Matches of UC, each tuple asserted by itself."""
    return watched(facts, lambda name, rows: [lang.assert_fact(name, row) for row in rows])


def watch_in_batches(facts: Facts) -> Run:
    """Matches of UC, tuples asserted in batches."""
    return watched(facts, give)


def watched(facts: Facts, arrive: Callable[[str, list[dict[str, Any]]], object]) -> Run:
    """What `arriving` near tuples took, beside giving all others."""
    found: set[Row] = set()
    name = state_channels(f"channels{next(_numbers)}", found)
    arriving = numbered({**message, "kind": "near"} for message in messages("arriving", facts["arriving"]))
    others = numbered(message for kind in ("use", "request", "near") for message in messages(kind, facts[kind]))
    clock = process_time()
    give(name, others)
    loaded = process_time()
    arrive(name, arriving)
    return Run(loaded - clock, process_time() - loaded, lambda: found)


def give(name: str, rows: list[dict[str, Any]]) -> None:
    for at in range(0, len(rows), BATCH):
        lang.assert_facts(name, rows[at : at + BATCH])


def messages(kind: str, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Rows as facts."""
    for row in rows:
        yield fact(kind, **dict(zip(COLUMNS[kind], row, strict=True)))


def numbered(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Facts with names of their own: among some 100,000 without, two are taken for the same."""
    return [{**row, "id": next(_numbers)} for row in rows]


def dictionary() -> Iterator[dict[str, Any]]:
    """What does not depend on the drawing."""
    for junction, number, said in FORMS:
        first, second, third = (*said, "")[:3]
        yield fact("form", junction=junction, number=number, first=first, second=second, third=third)
    for label, other in OPPOSITE.items():
        yield fact("opposite", label=label, other=other)
    for direction in range(8):
        yield fact("back", direction=direction, other=(direction + 4) % 8)
        for turn in (1, 2, 3):
            yield fact("left", direction=direction, other=(direction + turn) % 8)


PROBLEMS: Mapping[str, Callable[[Facts], Run]] = {
    "manners": manners,
    "waltz": waltz,
    "watch-one-by-one": watch_one_by_one,
    "watch-in-batches": watch_in_batches,
}


if __name__ == "__main__":
    print_outcome(PROBLEMS, sys.argv[1:])
