"""Rows of Python values, written by `marshal` in its second version, into columns.

Python writes a byte for the type of each value before it, so that types are looked at here and not value by value in
Python: `i` is a number of 32 bits, `l` one of so many digits of 15 bits, `u` a text, `[` and `(` begin a row.
"""

from __future__ import annotations

import numpy as np

from tidelog.kernels.jit import inlined, kernel

SIGNED, UNSIGNED, TEXT = range(3)
"""What a column holds."""

_LIST, _TUPLE, _SHORT, _LONG, _UTF8 = np.uint8(0x5B), np.uint8(0x28), np.uint8(0x69), np.uint8(0x6C), np.uint8(0x75)
_SURROGATE, _SURROGATE_NEXT = np.uint8(0xED), np.uint8(0xA0)
_MOST_DIGITS = 4
_DIGIT = 15


@kernel
def read_rows(written, forms, columns, letters, used):
    """Whether all rows have values of these forms; then those of column c are columns[c, 1:]. The texts of the t-th
    column of texts end there in letters[t], of which used[t] bytes are used."""
    if not _begins_with(written, 0, columns.shape[1] - 1):
        return False
    at = 5
    for row in range(1, columns.shape[1]):
        if not _begins_with(written, at, forms.size):
            return False
        at += 5
        text = 0
        for c in range(forms.size):
            mark = written[at]
            if mark != (_UTF8 if forms[c] == TEXT else _SHORT) and (mark != _LONG or forms[c] == TEXT):
                return False
            value = _number_at(written, at + 1)
            at += 5
            if forms[c] == TEXT:
                begin = used[text]
                for i in range(value):
                    letter = written[at + i]
                    letters[text, begin + i] = letter
                    # Half of a pair is no text; Python writes it nevertheless.
                    if letter == _SURROGATE and written[at + i + 1] >= _SURROGATE_NEXT:
                        return False
                at += value
                value += begin
                used[text] = value
                text += 1
            elif mark == _LONG:
                digits = abs(value)
                if digits > _MOST_DIGITS:
                    return False
                sign = 1 if value > 0 else -1
                value = 0
                for i in range(digits):
                    digit = np.int64(written[at + 2 * i]) | np.int64(written[at + 2 * i + 1]) << 8
                    value |= digit << (_DIGIT * i)
                at += 2 * digits
                value *= sign
            if forms[c] == UNSIGNED and value < 0:
                return False
            columns[c, row] = value
    return True


@inlined
def _begins_with(written, at, count):
    """Whether a list or a tuple of so many begins there."""
    return (written[at] == _LIST or written[at] == _TUPLE) and _number_at(written, at + 1) == count


@inlined
def _number_at(written, at):
    """The number of 32 bits, lowest byte first."""
    low = np.uint32(written[at]) | np.uint32(written[at + 1]) << np.uint32(8)
    high = np.uint32(written[at + 2]) | np.uint32(written[at + 3]) << np.uint32(8)
    return np.int64(np.int32(low | high << np.uint32(16)))
