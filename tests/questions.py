"""Random questions that bind a column, and their answers by definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from fragments import VALUES, Relation
from tidelog.schema import Kind, Row, Value


@dataclass(frozen=True)
class Asked:
    """A question about one relation: the constants by column, and which columns have variables."""

    relation: str
    constants: Mapping[int, Value]
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.relation}({', '.join(map(self._argument, range(len(self.names))))})"

    def answers(self, rows: Iterable[Row]) -> set[Row]:
        """The assignments of its variables, among `rows`, by definition."""
        found = set()
        for row in rows:
            values: dict[str, Value] = {}
            agrees = all(row[column] == value for column, value in self.constants.items())
            for column, name in enumerate(self.names):
                if column not in self.constants and name != "_":
                    agrees &= values.setdefault(name, row[column]) == row[column]
            if agrees:
                found.add(tuple(values.values()))
        return found

    def _argument(self, column: int) -> str:
        value = self.constants.get(column)
        if value is None:
            return self.names[column]
        return f'"{value}"' if isinstance(value, str) else str(value)


@st.composite
def questions(draw: st.DrawFn, relations: tuple[Relation, ...]) -> Asked:
    """A question that binds a column, of a relation with rules where there is one."""
    computed = [relation for relation in relations if relation.has_rows and (relation.layer or relation.qualifier)]
    assume(computed)
    relation = draw(st.sampled_from(computed))
    first = draw(st.integers(0, len(relation.kinds) - 1))
    constants: dict[int, Value] = {}
    for column, kind in enumerate(relation.kinds):
        if column == first or draw(st.integers(0, 3)) == 3:
            constants[column] = draw(st.sampled_from(VALUES[kind][:6]))
    same = Kind.NUMBER if relation.kinds.count(Kind.NUMBER) > 1 and draw(st.integers(0, 4)) == 4 else None
    names = tuple(
        "_" if draw(st.integers(0, 5)) == 5 else "Same" if kind is same else f"V{column}"
        for column, kind in enumerate(relation.kinds)
    )
    return Asked(relation.name, constants, names)
