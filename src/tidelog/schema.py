"""What the columns of a relation hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a value is made of. User types are names over a kind."""

    NUMBER = "number"  # 64-bit signed integer
    UNSIGNED = "unsigned"  # 64-bit unsigned integer
    FLOAT = "float"  # 64-bit IEEE 754, never NaN
    SYMBOL = "symbol"  # text, UTF-8

    def __repr__(self) -> str:
        return f"Kind.{self.name}"


Value = int | float | str
"""A value as Python sees it: int for NUMBER and UNSIGNED, float for FLOAT, str for SYMBOL."""

Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column: its name, the type the user wrote, and the kind that type stands for."""

    name: str
    type: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a relation."""

    relation: str
    attributes: tuple[Attribute, ...]

    @property
    def arity(self) -> int:
        return len(self.attributes)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(attribute.kind for attribute in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    def __str__(self) -> str:
        columns = ", ".join(f"{attribute.name}: {attribute.type}" for attribute in self.attributes)
        return f"{self.relation}({columns})"
