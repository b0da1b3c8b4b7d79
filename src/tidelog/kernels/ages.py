"""Ages of rows: those of rows that came together follow one another, so that only jumps are written down.

Row number starts[s] has age ages[s]; those behind it, up to starts[s + 1], go on counting from there. Rows are numbered
in the order in which they came, so that within a relation whatever has a smaller number is older.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, lean


@lean
def ages_of_rows(starts, ages, numbers, out):
    """Writes the age of each row, by its number. Nothing is searched for where numbers ascend."""
    span = 0
    for i in range(numbers.size):
        number = numbers[i]
        span += span + 1 < starts.size and starts[span + 1] <= number
        if number < starts[span] or (span + 1 < starts.size and starts[span + 1] <= number):
            span = _span_of(starts, number)
        out[i] = ages[span] + number - starts[span]


@lean
def are_older(starts, ages, numbers, number_column, rows, age_column, result):
    """Writes for each number whether the row is there (not -1) and older than the age that rows[i] has."""
    for i in range(rows.shape[0]):
        number = numbers[i, number_column]
        result[i] = number >= 0 and age_of(starts, ages, number) < rows[i, age_column]


@lean
def are_younger(starts, ages, numbers, number_column, rows, age_column, result):
    """Writes for each number whether the row is there (not -1) and younger than the age that rows[i] has."""
    for i in range(rows.shape[0]):
        number = numbers[i, number_column]
        result[i] = number >= 0 and age_of(starts, ages, number) > rows[i, age_column]


@inlined
def rows_before(starts, ages, age):
    """The first row number that is not older than that age: all rows with smaller numbers are."""
    low = 0
    high = starts.size
    while high - low > 1:
        middle = (low + high) // 2
        if ages[middle] < age:
            low = middle
        else:
            high = middle
    if ages[low] >= age:
        return np.int64(starts[low])
    number = np.int64(starts[low]) + age - ages[low]
    return min(number, np.int64(starts[high])) if high < starts.size else number


@inlined
def age_of(starts, ages, number):
    """The age of the row of that number."""
    span = _span_of(starts, number)
    return ages[span] + number - starts[span]


@inlined
def _span_of(starts, number):
    """The last jump before the row of that number, or at it."""
    low = 0
    high = starts.size
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= number:
            low = middle
        else:
            high = middle
    return low
