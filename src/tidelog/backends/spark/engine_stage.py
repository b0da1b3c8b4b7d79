"""The compiled engine inside an Arrow stage: rows of a partition in, what the rules of a stratum derive from them out.

A task may run twice, or on another machine: everything it needs comes with its rows and its script, and nothing stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.spark.packed_rows import packed, packed_marker, unpacked
from tidelog.backends.spark.partitions import Partitioner, Partitions, hash_of_numbers, hash_of_rows, hash_of_texts
from tidelog.backends.spark.tagged_rows import TO, Layout, plain_batches, small_numbers_of
from tidelog.errors import LimitError
from tidelog.facts.columns import values_of
from tidelog.facts.fact_set import FactSet
from tidelog.facts.membership import Mask, Rows
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.nodes import RulePlan, Version
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.placement import EVERYWHERE, WHOLE_ROW, PlacedRule, Placement, copy_of
from tidelog.plan.walk import scans_of
from tidelog.schema import Kind, Schema

ROWS_SENT = 1 << 16
"""Rows in a batch that a stage gives."""

NOBODY = -1


class Pace(Enum):
    """How far a stage goes: to its own fixpoint, or one round."""

    RUN_AHEAD = "run ahead"
    ONE_ROUND = "one round"


@dataclass(frozen=True, slots=True)
class Script:
    """What a stage does with its rows. `size_limits` are those of the program, which only one task alone can keep."""

    placement: Placement
    schemas: Mapping[str, Schema]
    layout: Layout
    partitioner: Partitioner
    most_rounds: int
    most_rows: int
    size_limits: Mapping[str, int] = field(default_factory=dict)


def mail_to(relation: str) -> str:
    """The tag of rows of a derived relation that are news to the partition they are for."""
    return f"{relation}@mail"


def layout_of(placement: Placement, schemas: Mapping[str, Schema]) -> Layout:
    """The layout of all rows that go into a stage and come out of one."""
    copies = {copy_of(name, way): schemas[name] for name, way in placement.copies()}
    derived = {name: schemas[name] for name in placement.derived}
    return Layout({**copies, **derived, **{mail_to(name): schema for name, schema in derived.items()}})


def run_to_the_end(script: Script, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All that follows in one partition, for strata whose rows stay where they are; packed if there is more than one
    relation."""
    number, batches = numbered(batches)
    engine = PartitionEngine(script, number)
    engine.take(script.layout.tables(batches))
    engine.run_locally()
    only = script.placement.derived[0] if len(script.placement.derived) == 1 else None
    for name in script.placement.derived:
        for rows in engine.all_rows(name):
            table = engine.decoded(name, rows)
            if only is not None:
                yield from plain_batches(script.schemas[name], table)
            else:
                yield packed(script.layout, name, table, number, is_answer=True)


def run_first_round(script: Script, pace: Pace, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """As `run_round`, after the rules that are not recursive, from rows that are not packed yet. Copies are packed."""
    number, batches = numbered(batches)
    engine = PartitionEngine(script, number, pace)
    tables = script.layout.tables(batches)
    engine.take(tables)
    engine.begin()
    engine.run_round()
    yield packed_marker(number)
    copies = [copy_of(name, way) for name, way in script.placement.copies()]
    for copy in tables.keys() & copies:
        for begin in range(0, tables[copy].num_rows, ROWS_SENT):
            yield packed(script.layout, copy, tables[copy].slice(begin, ROWS_SENT), number, is_answer=False)
    yield from engine.outcome()


def run_round(script: Script, pace: Pace, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a partition learns from its mail: new rows to keep, and mail to other partitions, all packed."""
    number, batches = numbered(batches)
    engine = PartitionEngine(script, number, pace)
    engine.take(unpacked(script.layout, batches))
    engine.run_round()
    yield from engine.outcome()


def numbered(batches: Iterable[pa.RecordBatch]) -> tuple[int, Iterator[pa.RecordBatch]]:
    """The number of the partition that the rows are for, and the same rows. Each partition has at least a marker."""
    rest = iter(batches)
    first = next(batch for batch in rest if batch.num_rows)
    (number,) = np.unique(small_numbers_of(first.column(first.schema.get_field_index(TO)))).tolist()
    return number, chain([first], rest)


class PartitionEngine(LocalBackend):
    """The local engine over the copies of one partition. What it knows of a derived relation has the relation's name.

    `news` are rows to keep for the next round; `mail` are rows by the partitions they are for.
    """

    def __init__(self, script: Script, number: int, pace: Pace = Pace.RUN_AHEAD) -> None:
        self._script = script
        self._number = number
        self._pace = pace
        self._placement = placement = script.placement
        self._derived = placement.derived
        self._ways = {name: () if placement.is_local else placement.ways[name] for name in self._derived}
        copies = {copy_of(name, way): script.schemas[name] for name, ways in self._ways.items() for way in ways}
        whole = {f"{name}@whole": script.schemas[name] for name in self._derived}
        super().__init__(
            {
                name: replace(schema, relation=name)
                for name, schema in {**script.layout.schemas, **copies, **whole}.items()
            }
        )
        self._copy_names = list(copies)
        self._orders: dict[tuple[int, tuple[int, ...]], RulePlan] = {}
        self._where: dict[Kind, Partitions] = {kind: np.empty(0, np.int32) for kind in Kind}
        self._rounds = 0
        self._mail_in: dict[str, Rows] = {}
        self._news: dict[str, list[Rows]] = {name: [] for name in self._derived}
        self._mail: dict[str, dict[int, list[Rows]]] = {name: defaultdict(list) for name in self._derived}

    def take(self, tables: Mapping[str, pa.Table]) -> None:
        """Stores the rows that came: copies, what was known before, and mail, which waits."""
        mail = {mail_to(name): name for name in self._derived}
        for name, table in tables.items():
            if name in mail:
                self._mail_in[mail[name]] = self.facts(name, table).rows
                continue
            self.insert(name, table)
            for way in self._ways.get(name, ()):
                rows = self.facts(name).rows
                mine = np.ascontiguousarray(rows[self._is_mine(name, rows, way)])
                self.exchange(copy_of(name, way), FactSet(mine), FactSet(mine[:0]))

    def run_locally(self) -> None:
        """Derives all that follows here, where derived rows are their own copies."""
        for name, rows in self._mail_in.items():
            self._stage(name, rows)
        rules: Sequence[PlacedRule] = self._placement.once
        while True:
            self._derive_own(rules)
            self._derive_restricted(rules)
            delta = self._advance_with_modules()
            if not any(delta.values()) or self._is_full():
                return
            self._check()
            rules = awake(self._placement.rounds, delta)

    def begin(self) -> None:
        """Runs the rules that are not recursive."""
        self._derive_apart(self._placement.once)

    def run_round(self) -> None:
        """Takes the mail in and derives from it, as far as the pace says."""
        for name, rows in self._mail_in.items():
            self._stage(name, rows)
        self._settle(Origin.MAIL)
        delta = self.advance(self._copy_names)
        if self._pace is Pace.ONE_ROUND:
            self._derive_apart(awake(self._placement.rounds, delta))
            return
        while any(delta.values()):
            self._derive_apart(awake(self._placement.rounds, delta))
            delta = self.advance(self._copy_names)
            self._check()

    def outcome(self) -> Iterator[pa.RecordBatch]:
        """The rows to keep here, apart those that are part of the answer here, and the mail."""
        layout = self._script.layout
        for name, pieces in self._news.items():
            if not pieces:
                continue
            news = np.concatenate(pieces)
            owned = self._is_mine(name, news, self._placement.owners[name])
            for is_answer in (True, False):
                for rows in cut([news[owned == is_answer]]):
                    yield packed(layout, name, self.decoded(name, rows), self._number, is_answer=is_answer)
        for name, letters in self._mail.items():
            for number, pieces in letters.items():
                for rows in cut([np.concatenate(pieces)]):
                    yield packed(layout, mail_to(name), self.decoded(name, rows), number, is_answer=False)

    def all_rows(self, name: str) -> Iterator[Rows]:
        """All rows of a derived relation, some at a time."""
        return cut([self._store.read(name, Version.FULL)])

    def decoded(self, name: str, rows: Rows) -> pa.Table:
        """The values of `rows`."""
        return self.table(name, FactSet(rows))

    def _advance_with_modules(self) -> Mapping[str, int]:
        """Makes what is staged the delta; modules close over their part of it."""
        modules = self._placement.modules
        closed = [module.closure.relation for module in modules]
        delta = dict(self.advance([name for name in self._derived if name not in closed]))
        for module in modules:
            edges = self.delta(module.edges)
            if len(edges):
                appeared, _ = self.close(module, edges, edges.none())
                self._stage(module.closure.relation, appeared.rows)
        return {**delta, **self.advance(closed)}

    def _derive_apart(self, rules: Sequence[PlacedRule]) -> None:
        """Derives rows, and sends those on that other partitions cannot derive by themselves."""
        self._derive_own(rules)
        self._settle(Origin.EVERYONE)
        self._derive_restricted(rules)
        self._settle(Origin.HERE)

    def _derive_restricted(self, rules: Sequence[PlacedRule]) -> None:
        self.derive(self._ordered([each.rule for each in rules if each.is_restricted]))

    def _derive_own(self, rules: Sequence[PlacedRule]) -> None:
        """Runs rules that derive the same in every partition; stages the rows that belong to this one."""
        whole = [replace(each.rule, head=f"{each.rule.head}@whole") for each in rules if not each.is_restricted]
        if not whole:
            return
        self.derive(self._ordered(whole))
        names = {f"{name}@whole": name for name in self._derived}
        self.advance(list(names))
        for source, name in names.items():
            rows = self.delta(source).rows
            ways = self._placement.ways[name]
            mine = np.zeros(rows.shape[0], np.bool_)
            for way in ways:
                mine |= self._is_mine(name, rows, way)
            self._stage(name, np.ascontiguousarray(rows[mine]))

    def _settle(self, origin: Origin) -> None:
        """Makes what is staged known, and hands it to the copies here and, if it is from here, to other partitions."""
        self.advance(self._derived)
        for name in self._derived:
            rows = self.delta(name).rows
            if not rows.shape[0]:
                continue
            partitions = [self._partitions(name, rows, way) for way in self._ways[name]]
            here = [_is_at(each, self._number, rows.shape[0]) for each in partitions]
            if origin is Origin.MAIL or self._pace is Pace.RUN_AHEAD:
                self._news[name].append(rows)
                for way, mask in zip(self._ways[name], here, strict=True):
                    self._stage(copy_of(name, way), np.ascontiguousarray(rows[mask]))
                if origin is Origin.HERE:
                    self._post(name, rows, partitions, left_out=self._number)
                continue
            # What this partition needs itself reaches it by mail, in the next round, as it reaches others.
            needed = np.logical_or.reduce(here)
            self._news[name].append(rows[~needed])
            if origin is Origin.HERE:
                self._post(name, rows, partitions, left_out=NOBODY)
            else:
                self._mail[name][self._number].append(rows[needed])

    def _post(self, name: str, rows: Rows, partitions: list[Partitions | None], *, left_out: int) -> None:
        """Mail with each of `rows` to each of its partitions, once, but not to the one that is left out."""
        if any(each is None for each in partitions):
            for number in range(self._script.partitioner.partitions):
                if number != left_out:
                    self._mail[name][number].append(rows)
            return
        to = [each for each in partitions if each is not None]
        for place, each in enumerate(to):
            mask = each != left_out
            for before in to[:place]:
                mask &= each != before
            for number in np.unique(each[mask]).tolist():
                self._mail[name][number].append(rows[mask & (each == number)])

    def _stage(self, name: str, rows: Rows) -> None:
        if rows.shape[0]:
            self._store.relations[name].stage(rows)

    def _ordered(self, rules: Sequence[RulePlan]) -> list[RulePlan]:
        """`rules` with joins ordered for the sizes of now; the same object as before for sizes like before."""
        ordered = []
        for rule in rules:
            sizes = (self._store.rows(scan.relation, scan.version) for scan in scans_of(rule.node))
            key = (id(rule.node), tuple((size.bit_length() + 1) // 2 for size in sizes))
            if key not in self._orders or self._orders[key].head != rule.head:
                self._orders[key] = replace(rule, node=order_joins(rule.node, self._store, rule.order))
            ordered.append(self._orders[key])
        return ordered

    def _is_mine(self, name: str, rows: Rows, way: int) -> Mask:
        return _is_at(self._partitions(name, rows, way), self._number, rows.shape[0])

    def _partitions(self, name: str, rows: Rows, way: int) -> Partitions | None:
        """The partition that each of `rows` belongs to by that way, None for all."""
        kinds = self._script.schemas[name].kinds
        if way == EVERYWHERE:
            return None
        if way == WHOLE_ROW:
            hashes = [self._hashes(kind, rows[:, number]) for number, kind in enumerate(kinds)]
            return self._script.partitioner.of_hashes(hash_of_rows(hashes, rows.shape[0]))
        return self._partitions_of_ids(kinds[way], rows[:, way])

    def _hashes(self, kind: Kind, ids: Rows) -> npt.NDArray[np.int64]:
        values = self._store.values
        if kind is Kind.SYMBOL:
            return hash_of_texts(values_of(values.decode(kind, np.ascontiguousarray(ids))))  # type: ignore[arg-type]
        return hash_of_numbers(kind, values.numbers(kind, ids))

    def _partitions_of_ids(self, kind: Kind, ids: Rows) -> Partitions:
        """The partition of each value, computed once for each different one."""
        known, values = self._where[kind], self._store.values
        size = values.size(kind)
        if known.size < size:
            new = np.arange(known.size, size, dtype=np.int32)
            if kind is Kind.SYMBOL:
                found = self._script.partitioner.of_texts(values_of(values.decode(kind, new)))  # type: ignore[arg-type]
            else:
                found = self._script.partitioner.of_numbers(kind, values.numbers(kind, new))
            known = self._where[kind] = np.concatenate([known, found])
        return known[ids]

    def _is_full(self) -> bool:
        limits = self._script.size_limits
        return any(name in limits and self._store.rows(name, Version.FULL) >= limits[name] for name in self._derived)

    def _check(self) -> None:
        """Raises LimitError when the stage has gone too far."""
        self._rounds += 1
        rows = sum(self._store.rows(name, Version.FULL) for name in self._derived)
        for name, used, most in (
            ("rounds", self._rounds, self._script.most_rounds),
            ("rows", rows, self._script.most_rows),
        ):
            if used >= most:
                raise LimitError(
                    f"the limit of {most:,} {name} was reached in partition {self._number} of the stratum of "
                    f"{', '.join(self._derived)}\n"
                    f"  hint: raise it with --limit-{name} or limits=Limits({name}=…), or bound what the rules derive"
                )


class Origin(Enum):
    """Where rows come from: other partitions, rules that all partitions run alike, or rules restricted to this one."""

    MAIL = "mail"
    EVERYONE = "everyone"
    HERE = "here"


def awake(rules: Sequence[PlacedRule], delta: Mapping[str, int]) -> list[PlacedRule]:
    """The delta versions of rules that have a delta to read."""
    return [
        each
        for each in rules
        if any(delta.get(scan.relation) for scan in joined_scans(each.rule.node) if scan.version is Version.DELTA)
    ]


def cut(pieces: Iterable[Rows]) -> Iterator[Rows]:
    """The rows of all pieces, at most ROWS_SENT at a time."""
    for rows in pieces:
        for begin in range(0, rows.shape[0], ROWS_SENT):
            yield rows[begin : begin + ROWS_SENT]


def _is_at(partitions: Partitions | None, number: int, count: int) -> Mask:
    return np.ones(count, np.bool_) if partitions is None else partitions == number
