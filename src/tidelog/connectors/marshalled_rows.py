"""Many rows of Python values at once: takes tuples or lists, returns their table, or nothing where it is not for them.

Python writes all values in one go, each with its type, and a kernel reads that: a third to a half of the time of
looking at types and values column by column.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tidelog.facts.columns import DTYPES, arrow_schema, column_of_letters, column_of_numbers
from tidelog.kernels import jit
from tidelog.kernels.marshalled import SIGNED, TEXT, UNSIGNED, read_rows
from tidelog.schema import Kind, Schema

MANY_ROWS = 512
"""Below that, calling the kernel takes longer than it saves."""

_VERSION = 2
_FORMS = {Kind.NUMBER: SIGNED, Kind.UNSIGNED: UNSIGNED, Kind.SYMBOL: TEXT}

_SAMPLE = [(1, -(2**40), "é"), [2, 3, ""]]
_WRITTEN = (
    b"[\2\0\0\0(\3\0\0\0i\1\0\0\0l\xfd\xff\xff\xff\0\0\0\0\0\4u\2\0\0\0\xc3\xa9[\3\0\0\0i\2\0\0\0i\3\0\0\0u\0\0\0\0"
)
_IS_KNOWN = marshal.dumps(_SAMPLE, _VERSION) == _WRITTEN
"""Whether this Python writes what the kernel reads: it has for long, but does not promise to."""


def marshalled_table(rows: Sequence[object], schema: Schema) -> pa.Table | None:
    """The table of `rows` if they are many tuples or lists of plain numbers of up to 60 bits and texts, of the right
    kinds, and kernels are compiled; else None, and somebody else has to look."""
    is_for_them = _IS_KNOWN and jit.is_compiled() and len(rows) >= MANY_ROWS and type(rows[0]) in (tuple, list)
    if not is_for_them or not _FORMS.keys() >= {*schema.kinds}:
        return None
    try:
        written = np.frombuffer(marshal.dumps(rows, _VERSION), np.uint8)  # type: ignore[arg-type]
    except ValueError:  # a value of another type
        return None
    texts = schema.kinds.count(Kind.SYMBOL)
    columns = np.zeros((schema.arity, len(rows) + 1), np.int64)
    letters = np.empty((texts, written.size), np.uint8)
    used = np.zeros(texts, np.int64)
    if not read_rows(written, np.array([_FORMS[kind] for kind in schema.kinds]), columns, letters, used):
        return None
    found = []
    text = 0
    for column, kind in zip(columns, schema.kinds, strict=True):
        if kind is Kind.SYMBOL:
            found.append(column_of_letters(len(rows), column, letters[text, : used[text]].copy()))
            text += 1
        else:
            found.append(column_of_numbers(kind, column[1:].view(DTYPES[kind])))
    return pa.Table.from_arrays(found, schema=arrow_schema(schema))
