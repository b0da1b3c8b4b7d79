"""Numbers of pairs in one array: numbers[x, y] is that of the pair (x, y), -1 where there is none."""

from __future__ import annotations

from tidelog.kernels.jit import inlined, lean


@lean
def find_pairs(numbers, batch, columns, out):
    """Writes the number of each row of `batch`, whose `columns` hold the pair."""
    for i in range(batch.shape[0]):
        x = batch[i, columns[0]]
        y = batch[i, columns[1]]
        out[i] = numbers[x, y] if _is_within(numbers, x, y) else -1


@inlined
def number_of_pair(x, y, numbers):
    """The number of a pair, -1 where it has none."""
    return numbers[x, y] if _is_within(numbers, x, y) else -1


@lean
def enter_pairs(numbers, rows, first):
    """Gives the numbers from `first` on to `rows`; returns how many are done, fewer than all where one lies outside."""
    for i in range(rows.shape[0]):
        if not _is_within(numbers, rows[i, 0], rows[i, 1]):
            return i
        numbers[rows[i, 0], rows[i, 1]] = first + i
    return rows.shape[0]


@lean
def withdraw_pairs(numbers, rows, out):
    """Takes the numbers of `rows` away and writes them."""
    for i in range(rows.shape[0]):
        out[i] = -1
        if _is_within(numbers, rows[i, 0], rows[i, 1]):
            out[i] = numbers[rows[i, 0], rows[i, 1]]
            numbers[rows[i, 0], rows[i, 1]] = -1


@lean
def forget_pairs(numbers, rows, gone):
    """Takes the numbers `gone` away from the rows that have them."""
    for number in gone:
        if numbers[rows[number, 0], rows[number, 1]] == number:
            numbers[rows[number, 0], rows[number, 1]] = -1


@inlined
def _is_within(numbers, x, y):
    return 0 <= x < numbers.shape[0] and 0 <= y < numbers.shape[1]
