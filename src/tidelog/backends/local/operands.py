"""The arrays behind the operands of generated code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.closed import ClosedIndex
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.runs import Runs
from tidelog.backends.local.sinks import Arrays
from tidelog.backends.local.store import Store
from tidelog.backends.local.team import Team
from tidelog.backends.local.word_index import WordIndex
from tidelog.codegen.operands import (
    AgedBlocks,
    Asked,
    Blocks,
    ChangedKeys,
    Gathered,
    Identity,
    Interning,
    Known,
    NumberedRows,
    Numbers,
    Operand,
    RowNumbers,
    RowsOf,
    RunsOf,
    Scratch,
    Sink,
    Spans,
    Words,
)
from tidelog.facts.columns import DTYPES
from tidelog.facts.membership import IdSet, PairSet
from tidelog.facts.numbering import PairNumbers
from tidelog.plan.nodes import Version
from tidelog.schema import Kind

AnyIndex: TypeAlias = Index | ClosedIndex | WordIndex | Runs

_MANY = 1 << 13
"""Rows to be taken in that are worth another thread: handing work over costs as much as some thousand."""

_SOME = 1 << 10
"""Rows that are worth to be handed over beside others."""

_OWN = (Sink, Gathered, Scratch)
"""Operands that code writes to."""

Interned = dict[Kind, npt.NDArray[np.int64]]
"""How many words of each kind there are, while generated code counts them."""


def catch_up(indexes: Iterable[AnyIndex], team: Team | None = None) -> None:
    """Brings indexes up to date, some of which may be named several times; threads share the work where there is
    much."""
    waiting = sorted({id(index): index for index in indexes}.values(), key=lambda index: -index.rows_waiting)
    many = [index for index in waiting if index.rows_waiting >= _SOME]
    if team is None or team.jobs == 1 or sum(index.rows_waiting for index in many) < _MANY:
        many = []
    for index in waiting[len(many) :]:
        index.catch_up()
    if team is None or not many:
        return
    total = sum(index.rows_waiting for index in many)
    divided = [index for index in many if not isinstance(index, ClosedIndex) and _is_divided(index, total, team)]
    tasks: list[list[Callable[[], None]]] = [[index.catch_up] for index in many if index not in divided]
    tasks += [index.shares(team.parts) for index in divided]
    # What one thread does alone comes first, so that all end at about the same time.
    team.do_all([task for some in sorted(tasks, key=len) for task in some])
    for index in divided:
        index.end()


def _is_divided(index: Index | WordIndex | Runs, total: int, team: Team) -> bool:
    """Whether threads share the work on one of the indexes that so many rows wait for. To divide an index of blocks
    takes memory: that is done only where all would wait for one thread otherwise."""
    if isinstance(index, Index):
        return index.rows_waiting * team.jobs > total
    return index.rows_waiting >= _MANY


def indexes_of(operands: Iterable[Operand], store: Store) -> tuple[AnyIndex, ...]:
    """The indexes that the operands read; they are the same as long as no relation becomes a closure."""
    return tuple(
        {id(index): index for operand in operands if (index := _index_of(operand, store)) is not None}.values()
    )


def _index_of(operand: Operand, store: Store) -> AnyIndex | None:
    match operand:
        case Blocks(relation, key):
            return store.index(relation, key)
        case AgedBlocks(relation, column):
            return store.index(relation, (column,), is_numbered=True)
        case Words(relation, column) | ChangedKeys(relation, column):
            return store.word_index(relation, column)
        case RunsOf(relation):
            return store.runs(relation)
        case _:
            return None


def bind(operands: Sequence[Operand], evaluation: Evaluation, lent: Arrays, interned: Interned) -> list[Any]:
    """The arguments that stand for the operands now, the sink among them what it has lent; they are good until that or
    the tables of values change."""
    identify_constants(operands, evaluation.store)
    return [array for operand in operands for array in _arrays(operand, evaluation, lent, interned)]


def bind_shared(operands: Sequence[Operand], evaluation: Evaluation) -> list[Arrays | None]:
    """The arrays that several threads read for each operand, whose constants have ids; None where each thread has its
    own. They are good until sets change their form or size."""
    return [None if isinstance(each, _OWN) else _arrays(each, evaluation, (), {}) for each in operands]


def bind_own(
    operands: Sequence[Operand], shared: Sequence[Arrays | None], evaluation: Evaluation, lent: Arrays,
    scratch: dict[Operand, Arrays],
) -> list[Any]:  # fmt: skip
    """The arguments for one thread, the sink among them what it has lent, and room that it keeps in `scratch`."""
    bound: list[Any] = []
    for operand, arrays in zip(operands, shared, strict=True):
        if arrays is not None:
            bound += arrays
        elif isinstance(operand, Gathered) and not _is_roomy(operand, scratch, evaluation.store):
            scratch[operand] = _arrays(operand, evaluation, lent, {})
            bound += scratch[operand]
        else:
            bound += scratch.get(operand) or _arrays(operand, evaluation, lent, {})
    return bound


def _is_roomy(operand: Gathered, scratch: Mapping[Operand, Arrays], store: Store) -> bool:
    """Whether what is kept for ids that are gathered has a bit for each of them; no bit is set between two calls."""
    kept = scratch.get(operand)
    return kept is not None and 64 * np.size(kept[0]) >= store.reach(operand.relation, operand.column)


def identify_constants(operands: Iterable[Operand], store: Store) -> None:
    """Gives ids to constants that have none yet: before tables of ids are handed over, or threads start."""
    for operand in operands:
        if isinstance(operand, Identity):
            store.values.identify_one(operand.kind, operand.value)


def _arrays(operand: Operand, evaluation: Evaluation, lent: Arrays, interned: Interned) -> Arrays:
    store = evaluation.store
    match operand:
        case RowsOf(relation, version):
            return (np.ascontiguousarray(evaluation.read(relation, version)),)
        case RunsOf(relation):
            runs = store.runs(relation)
            return (runs.delta() if evaluation.window is None else runs.between(*evaluation.window),)
        case Blocks(relation, key):
            index = store.index(relation, key)
            assert isinstance(index, Index)
            return index.arrays
        case Words(relation, column, version):
            words = store.word_index(relation, column)
            held = words.delta if version is Version.DELTA else words.full
            return held.starts, held.counts, held.sizes, held.words, held.bits
        case ChangedKeys(relation, column):
            return (store.word_index(relation, column).delta.keys,)
        case Known(relation):
            known = store.relations[relation].membership
            if isinstance(known, IdSet):
                return (known.seen,)
            return known.arrays if isinstance(known, PairSet) else (known.slots, known.rows)
        case Sink() | Asked():
            return lent
        case NumberedRows(relation):
            return store.numbered_marked(relation)
        case AgedBlocks(relation, column):
            aged = store.index(relation, (column,), is_numbered=True)
            assert isinstance(aged, Index)
            starts, _, counts, payload = aged.arrays
            return starts, counts, payload
        case RowNumbers(relation):
            numbering = store.relations[relation].numbering
            if isinstance(numbering, PairNumbers):
                return (numbering.numbers,)
            return numbering.slots, numbering.rows
        case Spans(relation):
            return store.relations[relation].spans
        case Numbers(kind):
            return (store.values.table(kind).values.view(DTYPES[kind]),)
        case Interning(kind):
            table = store.values.table(kind)
            if kind not in interned:
                interned[kind] = np.zeros(1, np.int64)
            interned[kind][0] = table.count
            return table.slots, table.values, interned[kind]
        case Identity(kind, value):
            return (store.values.identify_one(kind, value),)
        case Scratch(width):
            return np.empty((1, width), np.int32), np.arange(width), np.empty(1, np.int32)
        case Gathered(relation, column):
            size = (store.reach(relation, column) + 63) // 64
            return np.zeros(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int64)
        case _:
            assert_never(operand)


def settle_interned(interned: Interned, store: Store) -> None:
    """Notes which words generated code has given ids to; makes room where there is little left."""
    for kind, count in interned.items():
        table = store.values.table(kind)
        table.count = int(count[0])
        if table.count >= min(table.slots.size // 2, table.values.size):
            table.make_room()
