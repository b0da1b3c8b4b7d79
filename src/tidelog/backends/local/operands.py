"""The arrays behind the operands of generated code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.closed import ClosedIndex
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.runs import Runs
from tidelog.backends.local.sinks import Arrays
from tidelog.backends.local.store import Store
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
"""Rows that are worth a thread."""

Interned = dict[Kind, npt.NDArray[np.int64]]
"""How many words of each kind there are, while generated code counts them."""


def catch_up(operands: Iterable[Operand], store: Store, threads: Executor | None = None) -> None:
    """Brings the indexes up to date that the operands read; threads take one each where there is much to do."""
    few: dict[int, AnyIndex] = {}
    many: dict[int, AnyIndex] = {}
    for operand in operands:
        match operand:
            case Blocks(relation, key):
                index: AnyIndex = store.index(relation, key)
            case AgedBlocks(relation, column):
                index = store.index(relation, (column,), is_numbered=True)
            case Words(relation, column) | ChangedKeys(relation, column):
                index = store.word_index(relation, column)
            case RunsOf(relation):
                index = store.runs(relation)
            case _:
                continue
        some = few if store.rows(relation, Version.DELTA) < _MANY or threads is None else many
        some[id(index)] = index
    for index in few.values():
        index.catch_up()
    if threads is not None:
        list(threads.map(lambda index: index.catch_up(), many.values()))


def bind(operands: Sequence[Operand], evaluation: Evaluation, lent: Arrays, interned: Interned) -> list[Any]:
    """The arguments that stand for the operands now, the sink among them what it has lent; they are good until that or
    the tables of values change."""
    identify_constants(operands, evaluation.store)
    return [array for operand in operands for array in _arrays(operand, evaluation, lent, interned)]


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
