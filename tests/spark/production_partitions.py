"""Parallel production rules shared among partitions in this process: the stages of Spark, with lists for frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from production_answers import GOES_ROUND, tuples
from production_oracle import Fact, State
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.spark.packed_rows import unpacked
from tidelog.backends.spark.partitions import Partitioner
from tidelog.backends.spark.tagged_rows import MARKER, TAG, TO
from tidelog.connectors.frames import to_table
from tidelog.maintain.protocol import Limits
from tidelog.pipeline.production.director import Director, Pace
from tidelog.pipeline.production.handler import Handler, Work
from tidelog.pipeline.production.homes import is_at
from tidelog.pipeline.production.placement import place
from tidelog.pipeline.production.stage import (
    SAME,
    TOLD,
    Script,
    Told,
    first_exchange,
    layout_of,
    logged_nets,
    mail_about,
    records_of,
    run_answers,
    run_exchange,
)
from tidelog.schema import Row

Batches = list[pa.RecordBatch]


class Partitions:
    """A run. `exchanges` counts what the partitions took to come to an end."""

    def __init__(
        self, checked: CheckedProgram, pace: Pace, partitions: int, sizes: Mapping[str, int] | None = None
    ) -> None:
        placement = place(checked, sizes or {}, partitions)
        self._checked = checked
        self._work = Work(checked, placement, Partitioner(partitions), Limits())
        self._script = Script(self._work, layout_of(self._work))
        self._pace = pace
        self._numbers = range(partitions)
        self.exchanges = 0

    def states(self, facts: Mapping[str, Iterable[Row]]) -> tuple[State, ...] | str:
        """The facts after each cycle, by what partitions kept of the facts that they own, or that the rules go round.

        What they give as their answer must be the last.
        """
        director = Director(self._pace)
        known: Batches = []
        found = [batch for number in self._numbers for batch in self._first(director, number, facts)]
        while True:
            self.exchanges += 1
            if director.hear(*self._told(found)) is not None:
                return GOES_ROUND
            found = [batch for batch in found if self._tag(batch) not in (TOLD, SAME)]
            if director.is_done:
                rows = [*known, *map(self._taken_in, found)]
                states = self._states(rows, facts)
                assert states[-1] == self._answers(rows, facts)
                assert director.cycles == len(states) - 1
                return states
            rows = [*known, *found]
            known += map(self._taken_in, found)
            found = [
                batch
                for number in self._numbers
                for batch in run_exchange(self._script, director.progress, self._sent_to(rows, number))
            ]

    def _first(self, director: Director, number: int, facts: Mapping[str, Iterable[Row]]) -> Batches:
        given = {}
        for name, rows in facts.items():
            if name in self._work.placement.ways:
                schema = self._checked.schemas[name]
                table = to_table(list(rows), schema)
                homes = self._work.placement.homes(name)
                given[name] = table.filter(pa.array(is_at(self._work.partitioner, schema, table, homes, number)))
        return list(first_exchange(self._script, director.progress, number, given))

    def _told(self, found: Batches) -> tuple[list[Told], list[tuple[int, int]]]:
        told, same = [], []
        for number in self._numbers:
            tables = unpacked(self._script.layout, self._sent_to(found, number, (TOLD, SAME)))
            told.append(Told(*tables[TOLD].to_pylist()[0].values()))
            same += [(number, each) for each in (tables[SAME].column(0).to_pylist() if SAME in tables else [])]
        return told, same

    def _answers(self, rows: Batches, facts: Mapping[str, Iterable[Row]]) -> State:
        answers = [
            batch for number in self._numbers for batch in run_answers(self._script, self._sent_to(rows, number))
        ]
        tables = unpacked(self._script.layout, answers)
        came, went = (
            [fact for name in self._work.placement.owners for fact in self._facts(tables, tag(name), name)]
            for tag in (mail_about, records_of)
        )
        assert sorted({*came, *went}) == sorted([*came, *went]), "a fact has two owners"
        start = {(name, tuple(row)) for name, rows in facts.items() for row in rows}
        assert not start & {*came}
        assert start >= {*went}
        return frozenset((start - {*went}) | {*came})

    def _states(self, rows: Batches, facts: Mapping[str, Iterable[Row]]) -> tuple[State, ...]:
        moved: dict[int, set[Fact]] = {}
        for number in self._numbers:
            handler = Handler(self._work, number, {})
            nets = logged_nets(self._script, handler, unpacked(self._script.layout, self._sent_to(rows, number)))
            for cycle, each in enumerate(nets, start=1):
                for name, net in handler.owned(each).items():
                    for some in (net.came, net.went):
                        found = {(name, row) for row in tuples(handler.backend.table(name, some))}
                        assert not found & moved.setdefault(cycle, set())
                        moved[cycle] |= found
        states = [frozenset((name, tuple(row)) for name, rows in facts.items() for row in rows)]
        for cycle in range(1, max(moved, default=0) + 1):
            states.append(states[-1] ^ moved.get(cycle, set()))
        return tuple(states)

    def _facts(self, tables: Mapping[str, pa.Table], tag: str, name: str) -> list[Fact]:
        if tag not in tables:
            return []
        columns = [column.to_pylist() for column in tables[tag].columns]
        arity = self._checked.schemas[name].arity
        return [(name, tuple(row[:arity])) for row in zip(*columns, strict=True)]

    def _sent_to(self, rows: Batches, number: int, tags: tuple[str, ...] = ()) -> Batches:
        return [batch for batch in rows if _first_of(batch, TO) == number and (not tags or self._tag(batch) in tags)]

    def _tag(self, batch: pa.RecordBatch) -> str:
        tag = _first_of(batch, TAG)
        return "" if tag == MARKER else list(self._script.layout.schemas)[tag]

    def _taken_in(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        acted_on = list(self._work.placement.owners)
        tags = self._script.layout.tags
        if self._tag(batch) not in map(mail_about, acted_on):
            return batch
        place = batch.schema.get_field_index(TAG)
        tag = pa.array(np.array([_first_of(batch, TAG) + len(acted_on)], np.int32))
        assert tag[0].as_py() in [tags[records_of(name)] for name in acted_on]
        return batch.set_column(place, TAG, tag)


def _first_of(batch: pa.RecordBatch, name: str) -> int:
    return batch.column(batch.schema.get_field_index(name))[0].as_py()
