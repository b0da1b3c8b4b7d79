"""What the errors of runs that do not end show: the rules that fired and what they changed, read from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from tidelog.analysis.checked import ProductionRule
from tidelog.backends.spark.engine_stage import numbered
from tidelog.backends.spark.packed_rows import PACKED, unpacked
from tidelog.backends.spark.tagged_rows import TAG, TO
from tidelog.errors import OscillationError
from tidelog.pipeline.production.director import Turn
from tidelog.pipeline.production.handler import Handler
from tidelog.pipeline.production.records import ADDED, by_iteration, numbers
from tidelog.pipeline.production.stage import (
    FIRED,
    Script,
    logged_nets,
    mail_about,
    net_records,
    packed_records,
    records_of,
)
from tidelog.production.firing import Fired, Firing
from tidelog.production.report import SHOWN, oscillation


def turn_error(script: Script, rules: Iterable[ProductionRule], turn: Turn, log: DataFrame) -> OscillationError:
    """The error for rules that are at the end of `turn` where they were at its start."""
    partitions = script.work.partitioner.partitions
    rows = log.repartitionById(partitions, TO).mapInArrow(partial(run_turn, script, turn), PACKED).toArrow()
    changes = unpacked(script.layout, rows.to_batches())
    fired = rules_fired(script, rules, range(turn.start, turn.end), log)
    firings = [
        Firing(
            number + 1,
            tuple(Fired(rule, ()) for rule in fired[number]),
            _changes(script, changes, mail_about, number),
            _changes(script, changes, records_of, number),
        )
        for number in range(turn.start, turn.end)
    ]
    return oscillation(turn.end, firings)


def rules_fired(
    script: Script, rules: Iterable[ProductionRule], iterations: Iterable[int], log: DataFrame
) -> dict[int, list[ProductionRule]]:
    """The rules that had instantiations in each of `iterations`."""
    rows = log.where(sf.col(TAG) == script.layout.tags[FIRED]).toArrow()
    found = unpacked(script.layout, rows.to_batches()).get(FIRED)
    if found is None:
        return {number: [] for number in iterations}
    ids, starts, counts = (numbers(found, name) for name in found.column_names)
    return {
        number: [rule for rule in rules if counts[(ids == rule.id) & (starts <= number)].sum() > 0]
        for number in iterations
    }


def run_turn(script: Script, turn: Turn, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Some of what came, as mail, and of what went, as records, in each iteration of `turn`, if it is owned here."""
    number, batches = numbered(batches)
    handler = Handler(script.work, number, {})
    nets = logged_nets(script, handler, unpacked(script.layout, batches))
    for iteration in range(turn.start, min(turn.end, len(nets))):
        for records in net_records(handler, handler.owned(nets[iteration]), iteration, 1):
            for name, table in records.items():
                has_come = numbers(table, ADDED) > 0
                for tag, some in ((mail_about, has_come), (records_of, ~has_come)):
                    shown = table.filter(pa.array(some)).slice(0, SHOWN + 1)
                    yield packed_records(script.layout, tag(name), shown, number)


def _changes(
    script: Script, changes: Mapping[str, pa.Table], tag: Callable[[str], str], number: int
) -> dict[str, pa.Table]:
    """The facts of an iteration by relation."""
    found = {}
    for name in script.work.placement.owners:
        if tag(name) in changes:
            records = by_iteration(changes[tag(name)])
            if number in records:
                found[name] = records[number].select(range(script.work.program.schemas[name].arity))
    return found
