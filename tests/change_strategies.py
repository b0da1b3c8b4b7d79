"""Random programs with random changes to their facts, and the ways in which a session can be asked to keep up.

A change script is drawn as plain operations (`insert this row`, `retract the third known fact`) that are resolved
against the facts known by then, so that retractions hit, rows repeat, and a failing script shrinks to a short one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

import tidelog
from closure_strategies import closure_programs
from explicit_facts import Step, explicit_start
from fragments import CHANGES, EVERYTHING, VALUES, Relation
from strategies import Sample, programs
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.errors import EvaluationError
from tidelog.language.parser import parse
from tidelog.maintain.protocol import Limits, Maintenance, Strategy
from tidelog.schema import Row
from tidelog.session import Session

DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Variant:
    """One way to keep derived facts up to date. Whichever is chosen, the rows are the same."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    def open(self, program: CheckedProgram, limits: Limits = DEFAULT_LIMITS, **options: Any) -> Session:
        """A session over `program` that works in this way."""
        return tidelog.open(program, limits=limits, **self.options, **options)


VARIANTS = tuple(
    Variant(f"{'modules' if modules else 'rules'}-{strategy.value}", {"maintenance": Maintenance(modules, strategy)})
    for modules in (True, False)
    for strategy in Strategy
)


def open_variants(program: CheckedProgram, limits: Limits = DEFAULT_LIMITS) -> Iterator[Session]:
    """A session for each way to keep derived facts up to date; each is closed before the next is opened."""
    for variant in VARIANTS:
        with variant.open(program, limits) as session:
            yield session


def pairs(share: int) -> int:
    """How many stories a property tries with each variant: `share` parts, of which all properties have 21 and more.

    With the 150 examples of a plain run, 21 parts are at least 2,000 pairs of program and script.
    """
    return settings.default.max_examples * share * 14 // (21 * len(VARIANTS)) + 1


@dataclass(frozen=True)
class Story:
    """A program, the facts it starts with, and the changes that follow."""

    sample: Sample
    steps: tuple[Step, ...]

    def checked(self) -> CheckedProgram:
        return check(parse(self.sample.text))

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        """What Hypothesis prints of a failing example: the text as it can be copied into a case."""
        changes = "\n\n".join(str(step) for step in self.steps)
        printer.text(
            f"a story:\n\n{self.sample.text}\nwith the facts {self.sample.facts}\nand the changes\n\n{changes}\n"
        )


@dataclass(frozen=True)
class Insert:
    """Insert `row`."""

    relation: str
    row: Row


@dataclass(frozen=True)
class Retract:
    """Retract `row`, which may well be absent, or present without being explicit."""

    relation: str
    row: Row


@dataclass(frozen=True)
class Forget:
    """Retract one of the explicit facts of a relation, if it has any."""

    relation: str
    position: int


@dataclass(frozen=True)
class Recall:
    """Insert again one of the facts of a relation that were retracted, if there are any."""

    relation: str
    position: int


@dataclass(frozen=True)
class Clear:
    """Retract every explicit fact of a relation."""

    relation: str


PROGRAMS = programs(CHANGES)
RISKY_PROGRAMS = programs(EVERYTHING)
CLOSURES = closure_programs()
ALL_PROGRAMS = st.one_of(PROGRAMS, CLOSURES)

Operation = Insert | Retract | Forget | Recall | Clear
ON_BASE = (Insert, Forget, Insert, Forget, Recall, Forget, Clear)
ON_DERIVED = (Insert, Insert, Forget, Retract, Insert)
POSITION = st.integers(0, 15)


@st.composite
def stories(draw: st.DrawFn, samples: st.SearchStrategy[Sample], most: int = 8) -> Story:
    """One of the programs `samples`, with three to `most` random changes."""
    sample = draw(samples)
    relations = [relation for relation in sample.relations if relation.has_rows]
    operations = draw(st.lists(st.lists(operation(relations), min_size=1, max_size=6), min_size=3, max_size=most))
    return Story(sample, tuple(resolved(operations, facts_at_start(sample, relations))))


def facts_at_start(sample: Sample, relations: Sequence[Relation]) -> dict[str, list[Row]]:
    """The explicit facts of `sample`, those of its text included where each of them has a value."""
    known = {relation.name: frozenset(sample.facts.get(relation.name, ())) for relation in relations}
    if not all(rule.body for rule in sample.rules):
        with suppress(EvaluationError):
            known = dict(explicit_start(check(parse(sample.text)), sample.facts))
    return {name: sorted(rows) for name, rows in known.items()}


@st.composite
def operation(draw: st.DrawFn, relations: Sequence[Relation]) -> Operation:
    """One insertion or retraction; base relations are touched more often than derived ones."""
    relation = draw(st.sampled_from([relation for relation in relations for _ in range(1 if relation.layer else 2)]))
    make = draw(st.sampled_from(ON_DERIVED if relation.layer else ON_BASE))
    if make is Clear:
        return Clear(relation.name)
    if make is Forget or make is Recall:
        return make(relation.name, draw(POSITION))
    row = tuple(draw(st.sampled_from(VALUES[kind][:6])) for kind in relation.kinds)
    return make(relation.name, row)


def resolved(script: Sequence[Sequence[Operation]], known: dict[str, list[Row]]) -> Iterator[Step]:
    """Each list of operations as a change to the explicit facts `known`, which follow the changes."""
    forgotten: dict[str, list[Row]] = {name: [] for name in known}
    for operations in script:
        insert: dict[str, list[Row]] = {}
        retract: dict[str, list[Row]] = {}
        for each in operations:
            side = insert if isinstance(each, Insert | Recall) else retract
            if rows := list(_rows_of(each, known, forgotten)):
                side.setdefault(each.relation, []).extend(rows)
        for name, rows in retract.items():
            forgotten[name] += [row for row in rows if row in known[name]]
            known[name] = [row for row in known[name] if row not in rows]
        for name, rows in insert.items():
            known[name] += [row for row in dict.fromkeys(rows) if row not in known[name]]
        yield Step(insert, retract)


def _rows_of(each: Operation, known: dict[str, list[Row]], forgotten: dict[str, list[Row]]) -> Iterator[Row]:
    match each:
        case Insert(_, row) | Retract(_, row):
            yield row
        case Forget(name, position):
            yield from known[name][position % len(known[name]) :][:1] if known[name] else ()
        case Recall(name, position):
            yield from forgotten[name][position % len(forgotten[name]) :][:1] if forgotten[name] else ()
        case Clear(name):
            yield from known[name]
