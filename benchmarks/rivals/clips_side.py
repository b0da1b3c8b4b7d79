"""CLIPS's side of a problem: `python -m benchmarks.rivals.clips_side PROBLEM FACTS REPEAT` prints its outcome.

Runs in whatever interpreter has clipspy, and needs nothing of Tidelog.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import clips

from benchmarks.rivals.outcome import Run, print_outcome
from benchmarks.rivals.problems import Facts, Row

PROGRAMS = Path(__file__).parent.parent / "programs"
SLICE = 1_000
"""Firings at a time. What has gone is freed only when a run returns: Waltz in one run takes many times longer."""

BATCH = 1_000


def manners(facts: Facts) -> Run:
    """Parties seated by a program that says where its search is."""
    return seated(facts, "manners.clp", "at")


def manners_newest_first(facts: Facts) -> Run:
    """Parties seated by a program that leaves the search to CLIPS."""
    return seated(facts, "manners_newest_first.clp", "newest")


def seated(facts: Facts, program: str, last: str) -> Run:
    environment = with_program(program)
    clock = process_time()
    give(environment, facts)
    loaded = process_time()
    fire(environment)
    done = process_time()

    def rows() -> Iterator[Row]:
        ends = {(phase["party"], phase[last]) for phase in facts_of(environment, "phase")}
        for path in facts_of(environment, "path"):
            if (path["party"], path["id"]) in ends:
                yield path["party"], path["seat"], path["guest"]

    return Run(loaded - clock, done - loaded, rows)


def waltz(facts: Facts) -> Run:
    """The labels that lines may have."""
    environment = with_program("waltz.clp")
    clock = process_time()
    give(environment, facts)
    loaded = process_time()
    fire(environment)
    done = process_time()
    found = ((may["from"], may["to"], str(may["label"])) for may in facts_of(environment, "may"))
    return Run(loaded - clock, done - loaded, lambda: found)


def watch_one_by_one(facts: Facts) -> Run:
    """Matches of UC, the rule run after each tuple."""
    return watched(facts, 1)


def watch_in_batches(facts: Facts) -> Run:
    """Matches of UC, the rule run after a batch of tuples."""
    return watched(facts, BATCH)


def watched(facts: Facts, batch: int) -> Run:
    """What `arriving` near tuples took, beside giving all others."""
    environment = with_program("uc.clp")
    arriving = [{"x": x, "z": z} for x, z in facts["arriving"]]
    near = environment.find_template("near")
    clock = process_time()
    give(environment, {name: rows for name, rows in facts.items() if name != "arriving"})
    fire(environment)
    loaded = process_time()
    for at in range(0, len(arriving), batch):
        for row in arriving[at : at + batch]:
            near.assert_fact(**row)
        environment.run()
    done = process_time()
    found = ((result["x"], result["y"]) for result in facts_of(environment, "result"))
    return Run(loaded - clock, done - loaded, lambda: found)


def with_program(name: str) -> Any:
    environment = clips.Environment()
    environment.load(str(PROGRAMS / name))
    environment.reset()
    return environment


def give(environment: Any, facts: Facts) -> None:
    """Asserts facts one by one: clipspy's `load_facts`, which reads text, was three times slower."""
    for name, rows in facts.items():
        template = environment.find_template(name)
        slots = [slot.name for slot in template.slots]
        for row in rows:
            template.assert_fact(
                **{
                    slot: clips.Symbol(value) if isinstance(value, str) else value
                    for slot, value in zip(slots, row, strict=True)
                }
            )


def fire(environment: Any) -> None:
    while environment.run(SLICE):
        pass


def facts_of(environment: Any, template: str) -> Iterator[Any]:
    yield from environment.find_template(template).facts()


PROBLEMS: Mapping[str, Callable[[Facts], Run]] = {
    "manners": manners,
    "manners-newest-first": manners_newest_first,
    "waltz": waltz,
    "watch-one-by-one": watch_one_by_one,
    "watch-in-batches": watch_in_batches,
}


if __name__ == "__main__":
    print_outcome(PROBLEMS, sys.argv[1:])
