"""Arithmetic that says whether there is a result: each gives the value and whether it is one."""

from __future__ import annotations

import numpy as np

from tidelog.kernels.hashing import mix
from tidelog.kernels.interning import EMPTY
from tidelog.kernels.jit import inlined

_LEAST = np.int64(-(2**63))
_EDGE = 2.0**62


@inlined
def add_numbers(left, right):
    total = left + right
    return total, ((left ^ total) & (right ^ total)) >= 0


@inlined
def subtract_numbers(left, right):
    total = left - right
    return total, ((left ^ right) & (left ^ total)) >= 0


@inlined
def multiply_numbers(left, right):
    """A product near the edge of the range counts as none: whoever computes exactly decides."""
    return left * right, abs(np.float64(left) * np.float64(right)) <= _EDGE


@inlined
def divide_numbers(left, right):
    """The quotient without its fraction."""
    if right == 0 or (left == _LEAST and right == -1):
        return np.int64(0), False
    quotient = left // right
    if quotient * right != left and (left < 0) != (right < 0):
        quotient += 1
    return quotient, True


@inlined
def remainder_of_numbers(left, right):
    """What `divide_numbers` leaves, with the sign of `left`."""
    if right == 0:
        return np.int64(0), False
    if right == -1:
        return np.int64(0), True
    remainder = left % right
    if remainder != 0 and (left < 0) != (right < 0):
        remainder -= right
    return remainder, True


@inlined
def least_number(left, right):
    return (left if left < right else right), True


@inlined
def greatest_number(left, right):
    return (left if left > right else right), True


@inlined
def add_floats(left, right):
    total = left + right + 0.0
    return total, total == total


@inlined
def subtract_floats(left, right):
    total = left - right + 0.0
    return total, total == total


@inlined
def multiply_floats(left, right):
    product = left * right + 0.0
    return product, product == product


@inlined
def divide_floats(left, right):
    if right == 0.0:
        return np.float64(0.0), False
    quotient = left / right + 0.0
    return quotient, quotient == quotient


@inlined
def least_float(left, right):
    return (left if left < right else right), True


@inlined
def greatest_float(left, right):
    return (left if left > right else right), True


@inlined
def intern_word(word, slots, values, count):
    """The id of one 64-bit word, a new one if need be; -1 when the table is full. count[0] is how many there are."""
    mask = slots.size - 1
    place = np.int64(mix(word) >> np.uint64(32)) & mask
    while slots[place] != EMPTY:
        if values[slots[place]] == word:
            return np.int64(slots[place])
        place = (place + 1) & mask
    if count[0] >= min(slots.size // 2, values.size):
        return np.int64(-1)
    slots[place] = count[0]
    values[count[0]] = word
    count[0] += 1
    return np.int64(count[0] - 1)


@inlined
def word_of_number(number):
    """The bits of a number as a word."""
    return np.int64(number).view(np.uint64)


@inlined
def word_of_float(number):
    """The bits of a float as a word."""
    return np.float64(number).view(np.uint64)
