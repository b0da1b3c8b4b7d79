"""Making rows from rows: join results, selections, projections.

Where each row is looked at, places in arrays are unsigned: then compiled code does not ask whether they count from the
end.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import kernel

LANES = 16
"""How many rows are compared with what is the largest so far at a time."""


@kernel
def expand(left, keep, begins, lengths, payload, take, out, row, offset):
    """Joins left[i] with payload[begins[i] : begins[i] + lengths[i]] from (row, offset) on until `out` is full.

    An output row is the columns `keep` of the left row, then the columns `take` of the payload row. `keep` and `take`
    give for each output column the input column, -1 where it comes from the other side.
    Returns (rows written, next row, next offset).
    """
    size = out.shape[0]
    filled = 0
    while row < left.shape[0] and filled < size:
        length = min(lengths[row] - offset, size - filled)
        begin = begins[row] + offset
        for c in range(out.shape[1]):
            column = np.uint64(c)
            if keep[c] >= 0:
                value = left[row, keep[c]]
                for j in range(filled, filled + length):
                    out[np.uint64(j), column] = value
            else:
                source = np.uint64(take[c])
                shift = begin - filled
                for j in range(filled, filled + length):
                    out[np.uint64(j), column] = payload[np.uint64(shift + j), source]
        filled += length
        offset += length
        if offset == lengths[row]:
            row += 1
            offset = 0
    return filled, row, offset


@kernel
def compress(rows, columns, mask, out):
    """Writes the `columns` of the rows where `mask` holds to `out`; returns how many."""
    filled = 0
    for i in range(rows.shape[0]):
        if mask[i]:
            for c in range(columns.size):
                out[np.uint64(filled), np.uint64(c)] = rows[np.uint64(i), np.uint64(columns[c])]
            filled += 1
    return filled


@kernel
def largest_in_column(rows, column):
    """The largest id in a column, -1 where there is none."""
    largest = np.int32(-1)
    for i in range(rows.shape[0]):
        largest = max(largest, rows[np.uint64(i), np.uint64(column)])
    return largest


@kernel
def largest_of_pairs(rows):
    """The largest first id and the largest second id, 0 where there is none."""
    lanes = np.zeros(2 * LANES, np.int32)
    largest_in_lanes(rows.reshape(-1), lanes)
    first = second = np.int32(0)
    for i in range(LANES):
        first = max(first, lanes[2 * i])
        second = max(second, lanes[2 * i + 1])
    return first, second


@kernel
def largest_in_lanes(numbers, lanes):
    """Raises each lane to the largest of every so many `numbers` as there are lanes.

    One after the other, it could not be foreseen which are larger than all before: ids often come in ascending order.
    Side by side, several are compared at a time.
    """
    width = np.uint64(lanes.size)
    whole = np.uint64(numbers.size // lanes.size * lanes.size)
    for start in range(np.uint64(0), whole, width):
        for lane in range(width):
            lanes[lane] = max(lanes[lane], numbers[start + lane])
    for lane in range(np.uint64(numbers.size) - whole):
        lanes[lane] = max(lanes[lane], numbers[whole + lane])


@kernel
def project(rows, columns, out):
    """Writes the `columns` of all rows to `out`."""
    for i in range(rows.shape[0]):
        for c in range(columns.size):
            out[np.uint64(i), np.uint64(c)] = rows[np.uint64(i), np.uint64(columns[c])]


@kernel
def project_some(rows, columns, out):
    """Writes the `columns` of all rows to `out`; one that is negative is left as it is."""
    for i in range(rows.shape[0]):
        for c in range(columns.size):
            if columns[c] >= 0:
                out[np.uint64(i), np.uint64(c)] = rows[np.uint64(i), np.uint64(columns[c])]


@kernel
def project_changing(rows, columns, out):
    """Writes the `columns` of each row to `out`, unless the row before has the same there; returns how many."""
    filled = 0
    for i in range(rows.shape[0]):
        is_same = i > 0
        for c in range(columns.size):
            column = np.uint64(columns[c])
            value = rows[np.uint64(i), column]
            out[np.uint64(filled), np.uint64(c)] = value
            is_same = is_same and value == rows[np.uint64(i - 1), column]
        if not is_same:
            filled += 1
    return filled


@kernel
def run_starts(rows, columns, starts):
    """Writes the number of each row that differs from the one before in `columns`; how many, -1 if they do not fit."""
    filled = 0
    for i in range(rows.shape[0]):
        is_same = i > 0
        for c in range(columns.size):
            is_same = is_same and rows[i, columns[c]] == rows[i - 1, columns[c]]
        if not is_same:
            if filled == starts.size:
                return -1
            starts[filled] = i
            filled += 1
    return filled
