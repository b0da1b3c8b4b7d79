"""Rows outside the engine: Arrow tables whose column types follow the schema."""

from __future__ import annotations

import pyarrow as pa

from tidelog.schema import Kind, Schema

ARROW_TYPES: dict[Kind, pa.DataType] = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.large_string(),
}


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of the table of a relation; no column holds nulls."""
    return pa.schema(
        [pa.field(attribute.name, ARROW_TYPES[attribute.kind], nullable=False) for attribute in schema.attributes]
    )
