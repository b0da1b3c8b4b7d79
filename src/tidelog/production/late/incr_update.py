"""INCR_UPDATE: takes a run that has ended and late news, revises only what depends on it.

Wolfson, Dewan, Stolfo and Yemini 1991, section 3, with what the paper leaves out: news of the input is presence, not an
operation; what is different in an iteration stays different in the next ones until an operation settles it; the run
ends when nothing changes, later than before or sooner. The old run counts as going on for ever in its last state, so
that what comes behind its end is found in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidelog.backends.protocol import Facts
from tidelog.facts.change import Change
from tidelog.facts.columns import column_of_numbers, empty_table, numbers_of
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Rows
from tidelog.production.late.chain_columns import Numbers, Records, Steps
from tidelog.production.late.late_run import LateRun
from tidelog.production.late.nets import Nets, ids_of
from tidelog.production.late.revision import Revision
from tidelog.schema import Attribute, Kind, Schema


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations on facts of one relation, by row: from iteration `first` to before `last` (`OPEN` if it does not end)
    the fact is added and deleted so many times more, or less."""

    rows: pa.Table
    first: Numbers
    last: Numbers
    added: Numbers
    deleted: Numbers


@dataclass(frozen=True, slots=True)
class Revised:
    """What news made of a run: how its last state differs, and how what its rules ask for does, by relation."""

    nets: Nets
    asked: Mapping[str, Operations]


def revise(run: LateRun, change: Change, at: int) -> Nets:
    """Makes `run` what it would be with this news from the start; how its last state differs from what it was.

    With `at` 0 the news is about the input. Otherwise it is one more operation for each fact in that cycle. On an error
    the run stays what it was.
    """
    if at == 0:
        return _follow(run, _revision(run, change, {}))
    operations = {}
    for relation in dict.fromkeys((*change.inserted, *change.retracted)):
        inserted, deleted = (run.backend.table(relation, facts) for facts in _facts(run, relation, change))
        added = np.arange(inserted.num_rows + deleted.num_rows) < inserted.num_rows
        first = np.full(added.size, at - 1, np.int64)
        operations[relation] = Operations(
            pa.concat_tables([inserted, deleted]), first, first + 1, added.astype(np.int64), (~added).astype(np.int64)
        )
    return _follow(run, _revision(run, Change(), operations))


def incorporate(run: LateRun, start: Change, operations: Mapping[str, Operations]) -> Revised:
    """Makes `run` what it would be if the input were different by `start` and others asked for `operations` too.

    Several iterations may be concerned at once, those behind the end too: the run goes on to the last of them. What its
    own rules ask for otherwise because of that is told, as others may have to know. On an error the run stays what it
    was.
    """
    revision = _revision(run, start, operations)
    nets = _follow(run, revision)
    asked = {}
    for relation, (rows, records) in revision.asked.items():
        table = run.backend.table(relation, FactSet(rows[records.facts]))
        asked[relation] = Operations(table, records.first, records.last, records.added, records.deleted)
    return Revised(nets, asked)


def _revision(run: LateRun, start: Change, operations: Mapping[str, Operations]) -> Revision:
    """What is to be followed."""
    first = min((int(each.first.min()) for each in operations.values() if each.first.size), default=0)
    revision = Revision(run, 0 if start.inserted or start.retracted else first)
    for relation in dict.fromkeys((*start.inserted, *start.retracted)):
        revision.start_with(relation, *map(ids_of, _facts(run, relation, start)))
    for relation, some in operations.items():
        rows, places = _numbered(run, relation, some.rows)
        none = np.zeros(places.size, np.int64)
        begin = Steps(places, some.first, some.added, some.deleted)
        end = Steps(places, some.last, none - some.added, none - some.deleted)
        revision.ask(relation, rows, Records.of(Steps.of([begin, end])))
    return revision


def _follow(run: LateRun, revision: Revision) -> Nets:
    course, nets = revision.follow()
    run.course = course
    return nets


def _facts(run: LateRun, relation: str, change: Change) -> tuple[Facts, Facts]:
    """What is inserted and what is retracted of `relation`; a fact of both is inserted."""
    tables = change.inserted.get(relation), change.retracted.get(relation)
    inserted, retracted = (
        run.backend.facts(relation, empty_table(run.schemas[relation]) if rows is None else rows) for rows in tables
    )
    return inserted, retracted.minus(inserted)


def _numbered(run: LateRun, relation: str, table: pa.Table) -> tuple[Rows, Numbers]:
    """The different facts of a table, and which of them each row has."""
    schema = run.schemas[relation]
    name = f"{relation}@numbered"
    number = Attribute("#", Kind.NUMBER.value, Kind.NUMBER)
    run.backend.declare({name: Schema(name, (number, *schema.attributes))})
    numbers = column_of_numbers(Kind.NUMBER, np.arange(table.num_rows))
    numbered = pa.Table.from_arrays([numbers, *table.columns], names=["#", *schema.names])
    found = run.backend.facts(name, numbered)
    ids = ids_of(found)
    order = np.argsort(numbers_of(Kind.NUMBER, run.backend.table(name, found)["#"]))
    rows = np.ascontiguousarray(ids[order, 1:]) if schema.arity else np.zeros((order.size, 1), np.int32)
    different, places = np.unique(rows, axis=0, return_inverse=True)
    return different, places.reshape(-1).astype(np.int64)
