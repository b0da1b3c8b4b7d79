"""An exchange as one partition sees it: rows that came to it in, what it found out and mail to others out.

A task may run twice, or on another machine, so it remembers nothing: what it knew before comes with its rows. That is a
log, the facts at the start and one record for each thing that it found out or was told, and the log is only added to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from tidelog.backends.spark.engine_stage import numbered
from tidelog.backends.spark.packed_rows import packed, packed_marker, unpacked
from tidelog.backends.spark.tagged_rows import Layout
from tidelog.facts.columns import arrow_schema
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.pipeline.production.course import Course
from tidelog.pipeline.production.handler import Handler, Work
from tidelog.pipeline.production.homes import sent
from tidelog.pipeline.production.records import (
    ADDED,
    ITERATION,
    Counts,
    by_iteration,
    from_iteration,
    iterations,
    numbers,
    numbers_schema,
    record_schema,
    tally,
    total,
)
from tidelog.production.late.nets import Nets, then, together

FIRED, TOLD, SAME = "@fired", "@told", "@same"
"""Tags of what a partition says about itself: derivations by rule, how far it is, when facts were as remembered."""

NOTHING_SENT = -1

NO_NETS: Nets = {}


@dataclass(frozen=True, slots=True)
class Script:
    """What a stage does and how its rows lie."""

    work: Work
    layout: Layout


@dataclass(frozen=True, slots=True)
class Progress:
    """How far partitions may go in an exchange, and what is certain.

    No partition goes beyond iteration `horizon`. What is known of iterations before `confirmed` is final. The state
    before the iteration `remembered` is the one that others are compared with.
    """

    horizon: int
    confirmed: int = 0
    remembered: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What a partition says about itself: whether it has nothing to do before mail comes, how many iterations it has
    behind it and how many up to the last that changed something, the first iteration that its mail is about, and how
    many facts of its own have come so far."""

    is_done: bool
    end: int
    cycles: int
    first_sent: int
    rows: int


def mail_about(relation: str) -> str:
    """The tag of records that are news to the partition they are for."""
    return f"{relation}@mail"


def records_of(relation: str) -> str:
    """The tag of records that the partition has taken in already; as far behind that of the mail as for the others."""
    return f"{relation}@records"


def nets_of(relation: str) -> str:
    """The tag of what iterations changed."""
    return f"{relation}@nets"


def layout_of(work: Work) -> Layout:
    """The layout of all rows that go into a stage and come out of one."""
    schemas, acted_on = work.program.schemas, list(work.placement.owners)
    facts = {name: schemas[name] for name in work.placement.ways}
    records = {name: record_schema(schemas[name]) for name in acted_on}
    tagged = {tag(name): records[name] for tag in (mail_about, records_of, nets_of) for name in acted_on}
    told = {
        FIRED: numbers_schema("rule", ITERATION, "count"),
        TOLD: numbers_schema(*(each.name for each in fields(Told))),
        SAME: numbers_schema(ITERATION),
    }
    return Layout({**facts, **tagged, **told})


def run_first(script: Script, progress: Progress, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """As `run_exchange`, from facts that are not packed yet. They are packed."""
    number, batches = numbered(batches)
    yield from first_exchange(script, progress, number, script.layout.tables(batches))


def first_exchange(
    script: Script, progress: Progress, number: int, given: Mapping[str, pa.Table]
) -> Iterator[pa.RecordBatch]:
    """What a partition finds in the facts that it starts from, and these facts."""
    handler = Handler(script.work, number, given)
    course = Course(handler, [], {})
    course.begin()
    yield packed_marker(number)
    for name, rows in given.items():
        yield packed(script.layout, name, rows, number, is_answer=False)
    yield from _outcome(script, progress, number, handler, course, {})


def run_exchange(script: Script, progress: Progress, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a partition learns from its mail: records to keep, and mail to other partitions, all packed."""
    number, batches = numbered(batches)
    tables = unpacked(script.layout, batches)
    handler = Handler(
        script.work, number, {name: tables[name] for name in script.work.placement.ways if name in tables}
    )
    course = Course(handler, logged_nets(script, handler, tables), _tagged(script, tables, records_of))
    yield from _outcome(script, progress, number, handler, course, _tagged(script, tables, mail_about))


def run_answers(script: Script, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What came, as mail, and what went, as records, of the facts that a partition owns; all in one iteration."""
    number, batches = numbered(batches)
    tables = unpacked(script.layout, batches)
    handler = Handler(script.work, number, {})
    ends = handler.owned(together(logged_nets(script, handler, tables)))
    for records in net_records(handler, ends, 0, 1):
        for name, table in records.items():
            has_come = numbers(table, ADDED) > 0
            for tag, some in ((mail_about, has_come), (records_of, ~has_come)):
                yield packed_records(script.layout, tag(name), table.filter(pa.array(some)), number)


def packed_records(layout: Layout, tag: str, records: pa.Table, to: int) -> pa.RecordBatch:
    """Records on their way to a partition."""
    return packed(layout, tag, records.select(list(layout.schemas[tag].names)), to, is_answer=True)


def logged_nets(script: Script, handler: Handler, tables: Mapping[str, pa.Table]) -> list[Nets]:
    """What each iteration changed, by the log."""
    found = total([_tagged(script, tables, nets_of)], ITERATION)
    pieces = {name: by_iteration(table) for name, table in found.items()}
    last = max((number for each in pieces.values() for number in each), default=-1)
    return [
        {name: _net(handler, name, each[number]) for name, each in pieces.items() if number in each}
        for number in range(last + 1)
    ]


def net_records(handler: Handler, nets: Nets, iteration: int, times: int) -> Iterator[Counts]:
    """What came and went in an iteration as records: facts that came are added, those that went deleted."""
    for name, net in nets.items():
        for facts, sign in ((net.came, Sign.INSERT), (net.went, Sign.DELETE)):
            rows: pa.Table = handler.backend.table(name, facts)
            yield {name: from_iteration(tally(rows, range(rows.num_columns), sign, times), iteration)}


def _outcome(
    script: Script, progress: Progress, number: int, handler: Handler, course: Course, mail: Mapping[str, pa.Table]
) -> Iterator[pa.RecordBatch]:
    """Lets the partition take its mail, and says what came of it."""
    layout, work = script.layout, script.work
    yield _told(layout, SAME, number, [(iteration,) for iteration in _same(progress, handler, course.nets)])
    before = list(course.nets)
    is_done = course.take(mail, progress.horizon)
    first_sent = NOTHING_SENT
    for relation, table in total(course.found, ITERATION).items():
        homes = work.placement.homes(relation)
        for to, mine in sent(work.partitioner, work.program.schemas[relation], table, homes):
            records = table.filter(pa.array(mine))
            tag = records_of(relation) if to == number else mail_about(relation)
            yield packed_records(layout, tag, records, to)
            if to != number:
                first = min(iterations({relation: records}))
                first_sent = first if first_sent == NOTHING_SENT else min(first, first_sent)
    for relation, table in _changed_nets(handler, before, course.nets).items():
        yield packed_records(layout, nets_of(relation), table, number)
    yield _told(layout, FIRED, number, course.fired)
    rows = sum(len(net.came) for nets in course.nets for net in handler.owned(nets).values())
    cycles = max((place for place, nets in enumerate(course.nets, start=1) if nets), default=0)
    yield _told(layout, TOLD, number, [astuple(Told(is_done, len(course.nets), cycles, first_sent, rows))])


def _same(progress: Progress, handler: Handler, nets: Sequence[Nets]) -> Iterator[int]:
    """The iterations that are certain before which the facts owned here are those that are remembered."""
    difference: Nets = {}
    for number in range(progress.remembered, progress.confirmed):
        if number < len(nets):
            difference = then(difference, handler.owned(nets[number]))
        if not difference:
            yield number + 1


def _tagged(script: Script, tables: Mapping[str, pa.Table], tag: Callable[[str], str]) -> dict[str, pa.Table]:
    return {name: tables[tag(name)] for name in script.work.placement.owners if tag(name) in tables}


def _net(handler: Handler, relation: str, table: pa.Table) -> Net:
    has_come = numbers(table, ADDED) > 0
    facts = handler.chains[relation].facts
    return Net(facts(table.filter(pa.array(has_come))), facts(table.filter(pa.array(~has_come))))


def _changed_nets(handler: Handler, before: Sequence[Nets], after: Sequence[Nets]) -> Counts:
    """What iterations change now and did not, less what they do not any more."""
    pieces: list[Counts] = []
    for number, (old, new) in enumerate(zip_longest(before, after, fillvalue=NO_NETS)):
        if old is not new:
            pieces += net_records(handler, old, number, -1)
            pieces += net_records(handler, new, number, 1)
    return total(pieces, ITERATION)


def _told(layout: Layout, tag: str, number: int, rows: Sequence[tuple[int, ...]]) -> pa.RecordBatch:
    """Rows of numbers that a partition says about itself."""
    schema = arrow_schema(layout.schemas[tag])
    values = np.array(rows, np.int64).reshape(len(rows), len(schema))
    table = pa.Table.from_arrays([pa.array(values[:, place]) for place in range(len(schema))], schema=schema)
    return packed(layout, tag, table, number, is_answer=False)
