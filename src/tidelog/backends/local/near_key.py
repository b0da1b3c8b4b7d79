"""Joins on several columns of which some alone lead to few rows: these are read, and those kept that agree.

An index by one column needs no table of keys, one by several may be there already, and either serves every join that
its columns are part of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tidelog.backends.local.batch import Batch, Named, Places, layout_of
from tidelog.backends.local.indexes import Index
from tidelog.backends.local.matches import OUTPUT, Argument, in_payload, probing
from tidelog.backends.local.store import Store
from tidelog.facts.membership import Mask
from tidelog.kernels import jit
from tidelog.kernels.blocks import expand_agreeing, present_agreeing
from tidelog.plan.nodes import Version


@dataclass(frozen=True, slots=True)
class NearKey:
    """A key of which the columns at `places` lead to few rows; those at `others` are to be compared with the columns
    `agreeing` of the index."""

    index: Index
    places: Places
    others: Places
    agreeing: Places

    def present(self, batch: Batch, arguments: tuple[Argument, ...], version: Version) -> Mask:
        """For each row of `batch`, whether some row agrees with its `arguments`."""
        keys, columns = probing(batch, arguments)
        matches = self.index.probe(keys, columns[self.places], version)
        result = np.empty(batch.size, np.bool_)
        compared = columns[self.others]
        present_agreeing(keys, compared, matches.begins, matches.lengths, matches.payload, self.agreeing, result)
        return result

    def joined(
        self, batch: Batch, arguments: tuple[Argument, ...], version: Version, new: Named, names: tuple[str, ...]
    ) -> Iterator[Batch]:
        """The rows of `batch` with each row that agrees with their `arguments`, with the columns `names`, some at a
        time."""
        keys, columns = probing(batch, arguments)
        matches = self.index.probe(keys, columns[self.places], version)
        keep, take = batch.names.joined(in_payload(new, self.index.payload_columns), names)
        compared = columns[self.others]
        row = offset = 0
        jit.work(matches.total)
        while matches.total and row < batch.size:
            out = np.empty((min(matches.total, OUTPUT), keep.size), np.int32)
            filled, row, offset = expand_agreeing(
                batch.rows, keep, keys, compared, matches.begins, matches.lengths, matches.payload, self.agreeing,
                take, out, row, offset,
            )  # fmt: skip
            yield Batch(out[:filled], layout_of(names))


def near_key(relation: str, key: tuple[int, ...], store: Store, known: NearKey | None) -> NearKey | None:
    """How to look `key` up by some of its columns, as `known` where that is it; None if all of them are needed."""
    found = store.near_index(relation, key)
    if found is None:
        return None
    columns, index = found
    if known is not None and known.index is index:
        return known
    places = [key.index(column) for column in columns]
    others = [at for at in range(len(key)) if at not in places]
    agreeing = [index.payload_columns.index(key[at]) for at in others]
    return NearKey(index, np.array(places, np.int64), np.array(others, np.int64), np.array(agreeing, np.int64))
