"""Ages of rows: those of rows that came together follow one another, so that only jumps are written down.

Row number starts[s] has age ages[s]; those behind it, up to starts[s + 1], go on counting from there.
"""

from __future__ import annotations

from tidelog.kernels.jit import inlined, lean


@lean
def ages_of_rows(starts, ages, numbers, out):
    """Writes the age of each row, by its number."""
    for i in range(numbers.size):
        out[i] = _age_of(starts, ages, numbers[i])


@lean
def are_older(starts, ages, numbers, number_column, rows, age_column, result):
    """Writes for each number whether the row is there (not -1) and older than the age that rows[i] has."""
    for i in range(rows.shape[0]):
        number = numbers[i, number_column]
        result[i] = number >= 0 and _age_of(starts, ages, number) < rows[i, age_column]


@lean
def are_younger(starts, ages, numbers, number_column, rows, age_column, result):
    """Writes for each number whether the row is there (not -1) and younger than the age that rows[i] has."""
    for i in range(rows.shape[0]):
        number = numbers[i, number_column]
        result[i] = number >= 0 and _age_of(starts, ages, number) > rows[i, age_column]


@inlined
def is_older(starts, ages, number, age):
    """Whether the row of that number is there (not -1) and older than that age."""
    return number >= 0 and _age_of(starts, ages, number) < age


@inlined
def _age_of(starts, ages, number):
    low = 0
    high = starts.size
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= number:
            low = middle
        else:
            high = middle
    return ages[low] + number - starts[low]
