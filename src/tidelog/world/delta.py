"""What a change did, as a user looks at it: counts of facts, and for each relation the rows that came and went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from tidelog.errors import UsageError
from tidelog.facts.change import Change, NetDelta, Outcome, row_count
from tidelog.facts.columns import empty_table
from tidelog.language.words import nearest
from tidelog.relation_view import RelationView
from tidelog.schema import Schema


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of the facts given in a change had an effect, and how many had none.

    A fact given twice was already there the second time. One that a change both inserts and retracts counts as
    inserted only.
    """

    inserted: int = 0
    already_there: int = 0
    retracted: int = 0
    not_there: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.inserted + other.inserted,
            self.already_there + other.already_there,
            self.retracted + other.retracted,
            self.not_there + other.not_there,
        )

    def __str__(self) -> str:
        return (
            f"{self.inserted:,} inserted ({self.already_there:,} already there), "
            f"{self.retracted:,} retracted ({self.not_there:,} not there)"
        )


def counts_of(asked: Change, outcome: Outcome) -> Counts:
    """How `asked` compares with what it did; it holds no fact on both sides."""
    inserted, retracted = row_count(outcome.inserted), row_count(outcome.retracted)
    return Counts(inserted, row_count(asked.inserted) - inserted, retracted, row_count(asked.retracted) - retracted)


class ChangedRelations:
    """The relations that a change touched, by name, and how many rows of each.

    Iterating gives the names of the relations that changed. It stays as it is, whatever changes later.
    """

    def __init__(self, deltas: Mapping[str, NetDelta], schemas: Mapping[str, Schema], counts: Counts) -> None:
        self._deltas = deltas
        self._schemas = schemas
        self._counts = counts

    @property
    def counts(self) -> Counts:
        """How many of the given facts were inserted, already there, retracted, not there."""
        return self._counts

    def __iter__(self) -> Iterator[str]:
        return (relation for relation in self._schemas if relation in self._deltas)

    def __len__(self) -> int:
        """How many relations changed."""
        return len(self._deltas)

    def __contains__(self, relation: object) -> bool:
        return relation in self._deltas

    def __repr__(self) -> str:
        lines = [
            [relation, f"+{self._deltas[relation].appeared_count:,}", f"-{self._deltas[relation].vanished_count:,}"]
            for relation in self
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            f"  {name.ljust(widths[0])}  {came.rjust(widths[1])}  {went.rjust(widths[2])}" for name, came, went in lines
        ]
        return "\n".join([f"{self._counts}" + ("" if lines else "; no relation changed"), *shown])

    def _delta_of(self, relation: str) -> tuple[Schema, NetDelta]:
        """What happened to a relation; UsageError where there is none of that name."""
        if relation not in self._schemas:
            near = nearest(str(relation), self._schemas)
            raise UsageError(f"no relation '{relation}'" + (f"; did you mean '{near}'?" if near else ""))
        schema = self._schemas[relation]
        return schema, self._deltas.get(relation) or _unchanged(schema)


class ChangedRelation:
    """How many rows of one relation a change made appear and vanish; false when there are none."""

    def __init__(self, schema: Schema, net: NetDelta) -> None:
        self._schema = schema
        self._net = net

    @property
    def schema(self) -> Schema:
        """The names, types and kinds of the columns."""
        return self._schema

    @property
    def appeared_count(self) -> int:
        return self._net.appeared_count

    @property
    def vanished_count(self) -> int:
        return self._net.vanished_count

    def __bool__(self) -> bool:
        return bool(self.appeared_count or self.vanished_count)


class Delta(ChangedRelations):
    """What a change did: `delta["path"].appeared`, `delta["path"].vanished`, `delta.counts`."""

    def __getitem__(self, relation: str) -> RelationDelta:
        return RelationDelta(*self._delta_of(relation))

    def inverse(self) -> Delta:
        """What taking the change back does."""
        swapped = {relation: _swapped(delta) for relation, delta in self._deltas.items()}
        counts = Counts(inserted=self._counts.retracted, retracted=self._counts.inserted)
        return Delta(swapped, self._schemas, counts)

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{escape(relation)}</td><td>{self[relation].appeared_count:,}</td>"
            f"<td>{self[relation].vanished_count:,}</td></tr>"
            for relation in self
        )
        head = "<tr><th>relation</th><th>appeared</th><th>vanished</th></tr>"
        caption = escape(str(self._counts))
        return f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{body}</tbody></table>"


class RelationDelta(ChangedRelation):
    """The rows of one relation that a change made appear and vanish; false when there are none."""

    @property
    def appeared(self) -> RelationView:
        """The rows that are there now and were not before."""
        return RelationView(self._schema, self._net.appeared, lambda: self.appeared_count)

    @property
    def vanished(self) -> RelationView:
        """The rows that were there before and are not now."""
        return RelationView(self._schema, self._net.vanished, lambda: self.vanished_count)

    def __repr__(self) -> str:
        parts = (("appeared", self.appeared), ("vanished", self.vanished))
        shown = [f"{word}: {view!r}" for word, view in parts if len(view)]
        return "\n".join(shown) or f"{self._schema}: unchanged"

    def _repr_html_(self) -> str:
        parts = (("appeared", self.appeared), ("vanished", self.vanished))
        return "".join(f"<div>{word}</div>{view._repr_html_()}" for word, view in parts if len(view))


def _swapped(delta: NetDelta) -> NetDelta:
    return NetDelta(delta.vanished_count, delta.appeared_count, delta.vanished, delta.appeared)


def _unchanged(schema: Schema) -> NetDelta:
    return NetDelta(0, 0, lambda: empty_table(schema), lambda: empty_table(schema))
