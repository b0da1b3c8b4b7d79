"""What a pipeline file says of relations and attributes that its program has not, or has otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from tidelog.connectors.problems import NOUNS
from tidelog.language.functions import RANGES
from tidelog.language.words import nearest
from tidelog.pipeline.config import ChangeSource, Output, Pipeline, Source
from tidelog.pipeline.toml_table import shown
from tidelog.schema import Kind, Schema, Value


def misfits(pipeline: Pipeline) -> Iterator[str]:
    """Every mistake, with its key; TidelogError where the program itself cannot be run."""
    schemas = pipeline.checked.schemas
    for section in ("inputs", "changes", "outputs"):
        for relation, entry in getattr(pipeline, section).items():
            place = f"{section}.{relation}"
            if relation not in schemas:
                yield f"{place}: {_unknown('relation', relation, schemas)}"
            else:
                yield from (f"{place}.{problem}" for problem in _misfits(entry, schemas[relation]))


def _misfits(entry: Source | ChangeSource | Output, schema: Schema) -> Iterator[str]:
    match entry:
        case Source():
            yield from _source_misfits(entry, schema)
        case ChangeSource(source=source, operation=operation):
            yield from _source_misfits(source, schema)
            if operation in [source.columns.get(name, name) for name in schema.names]:
                yield (
                    f"operation: '{operation}' is a column of {schema}\n"
                    "  hint: give the column with the operations another name"
                )
        case Output(deltas=deltas):
            taken = set(schema.names) & {"change", "version"}
            if deltas and taken:
                yield (
                    f"deltas: '{min(taken)}' is an attribute of {schema}, and deltas have a column of that name\n"
                    "  hint: give the attribute another name"
                )


def _source_misfits(source: Source, schema: Schema) -> Iterator[str]:
    nulls = source.nulls if isinstance(source.nulls, Mapping) else {}
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    for key, names in (("columns", source.columns), ("nulls", nulls)):
        for name in names:
            if name not in kinds:
                yield f"{key}.{name}: {_unknown('attribute', name, schema.names)}"
    for name, value in nulls.items():
        if name in kinds and not _is_value(value, kinds[name]):
            yield f"nulls.{name}: expected {NOUNS[kinds[name]]}, as in {schema}, found {shown(value)}"


def _is_value(value: Value, kind: Kind) -> bool:
    match value:
        case int() if kind in RANGES:
            return RANGES[kind][0] <= value <= RANGES[kind][1]
        case int() | float():
            return kind is Kind.FLOAT and not math.isnan(value)
        case _:
            return kind is Kind.SYMBOL


def _unknown(noun: str, name: str, known: Iterable[str]) -> str:
    near = nearest(name, list(known))
    hint = f"did you mean '{near}'?" if near else f"there are: {', '.join(known)}"
    return f"no such {noun} in the program\n  hint: {hint}"
