"""Small plans by hand, and a backend with their rows."""

from __future__ import annotations

import pyarrow as pa

from tidelog.backends.local.backend import LocalBackend
from tidelog.facts.columns import arrow_schema, column_of
from tidelog.language.syntax_tree import Call, Constant, Variable
from tidelog.plan.nodes import Project, RulePlan
from tidelog.schema import Attribute, Kind, Schema
from tidelog.span import Span

HERE = Span("program.dl", 3, 5, 3, 9)
N = Kind.NUMBER


def schema(name, *kinds):
    """A schema with columns c0, c1, …"""
    return Schema(name, tuple(Attribute(f"c{n}", kind.value, kind) for n, kind in enumerate(kinds)))


def table(of, rows):
    """Rows as the Arrow table of a schema."""
    if not of.arity:
        return pa.table({"": pa.nulls(len(rows))}).select([])
    columns = [column_of(kind, [row[number] for row in rows]) for number, kind in enumerate(of.kinds)]
    return pa.Table.from_arrays(columns, schema=arrow_schema(of))


class Tables:
    """A local backend whose relations are given by their kinds and first rows."""

    def __init__(self, relations, jobs=1):
        self.schemas = {name: schema(name, *kinds) for name, (kinds, _) in relations.items()}
        self.backend = LocalBackend(self.schemas, jobs)
        for name, (_, rows) in relations.items():
            self.insert(name, rows)

    def insert(self, name, rows):
        return self.backend.insert(name, table(self.schemas[name], list(rows)))

    def rows(self, name):
        """The stored rows of a relation, in order of age."""
        stored = self.backend.table(name)
        assert stored.schema == (arrow_schema(self.schemas[name]) if self.schemas[name].arity else pa.schema([]))
        return list(zip(*stored.to_pydict().values(), strict=True)) if stored.num_columns else [()] * stored.num_rows

    def derived(self, *rules):
        """The rows that one round adds to the head of the first rule, in the order they came."""
        before = len(self.rows(rules[0].head))
        self.backend.derive(rules)
        self.backend.advance([rules[0].head])
        return self.rows(rules[0].head)[before:]


def rule(head, body, *columns, kinds=None, number=1):
    """A rule plan; names stand for variables, and variables are numbers unless `kinds` says otherwise."""
    terms = tuple(Variable(column) if isinstance(column, str) else column for column in columns)
    names = dict.fromkeys("abcdxyz", N) | (kinds or {})
    return RulePlan(number, head, Project(body, terms, HERE), HERE, f"{head} :- …", names)


def number(value):
    return Constant(value, None, kind=N)


def call(function, left, right, span=HERE):
    """A call on numbers; names stand for variables."""
    terms = tuple(Variable(term) if isinstance(term, str) else term for term in (left, right))
    return Call(function, terms, span, N, (N, N))
