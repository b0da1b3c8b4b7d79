"""Schemas in one line, for the tests of the connectors."""

from __future__ import annotations

from tidelog.language.syntax_tree import Directive, DirectiveKind
from tidelog.schema import Attribute, Kind, Schema
from tidelog.span import Span


def schema(relation: str, **attributes: str) -> Schema:
    """`schema("edge", a="number", b="number")`"""
    return Schema(relation, tuple(Attribute(name, type, Kind(type)) for name, type in attributes.items()))


EDGE = schema("edge", a="number", b="number")
NAME = schema("name", s="symbol")
PERSON = schema("person", name="symbol", age="unsigned", height="float")
DONE = schema("done")

SPAN = Span("program.dl", 3, 1, 3, 12)


def input_of(relation: str, **parameters: str) -> Directive:
    return Directive(DirectiveKind.INPUT, (relation,), tuple(parameters.items()), SPAN)


def output_of(relation: str, **parameters: str) -> Directive:
    return Directive(DirectiveKind.OUTPUT, (relation,), tuple(parameters.items()), SPAN)
