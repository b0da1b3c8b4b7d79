"""What random programs are made of: relations, values, and the part of the language that a test asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.schema import Kind, Value

VALUES: dict[Kind, Sequence[Value]] = {
    Kind.NUMBER: (1, 2, 3, 0, 4, 5, 6, -1),
    Kind.SYMBOL: ("a", "b", "ab", "", "3", "é"),
    Kind.FLOAT: (0.5, 1.0, 2.0, -1.5, 0.0),
    Kind.UNSIGNED: (1, 2, 3, 0, 4),
}


@dataclass(frozen=True)
class Relation:
    """A relation of a random program. Layer 0 is for base relations; relations of one layer may be recursive."""

    name: str
    kinds: tuple[Kind, ...]
    layer: int
    qualifier: str = ""

    @property
    def declaration(self) -> str:
        columns = ", ".join(f"c{number}: {kind.value}" for number, kind in enumerate(self.kinds))
        return f".decl {self.name}({columns}) {self.qualifier}".rstrip()

    @property
    def has_rows(self) -> bool:
        """Whether the relation has rows of its own, to be read and changed."""
        return self.qualifier != "inline"


@dataclass(frozen=True)
class Fragment:
    """The part of the language that may be used.

    `literals` are names in `literal_strategies.MAKERS`, `orders` the comparisons of symbols, `functors` stands for
    functions other than `arithmetic`, and `risky` for expressions that may have no value.
    """

    kinds: tuple[Kind, ...]
    literals: tuple[str, ...]
    aggregates: tuple[str, ...]
    arithmetic: tuple[str, ...]
    orders: tuple[str, ...]
    functors: bool
    risky: bool
    nested_aggregates: bool
    inline: bool


EVERYTHING = Fragment(
    kinds=(Kind.NUMBER, Kind.SYMBOL, Kind.FLOAT, Kind.UNSIGNED),
    literals=(
        "comparison",
        "equation",
        "negation",
        "aggregate",
        "test",
        "disjunction",
        "aggregate",
        "range",
        "choice",
        "truth",
    ),
    aggregates=("count", "sum", "min", "max", "mean"),
    arithmetic=("{} + {}", "{} - {}", "{} * {}", "min({}, {})", "max({}, {}, 2)", "{} band {}", "{} bxor {}", "-{}"),
    orders=("=", "!=", "<", "<=", ">", ">="),
    functors=True,
    risky=True,
    nested_aggregates=True,
    inline=True,
)

CLINGO = Fragment(
    kinds=(Kind.NUMBER, Kind.SYMBOL),
    literals=("comparison", "equation", "negation", "aggregate", "disjunction", "aggregate", "choice", "truth"),
    aggregates=("count", "sum", "min", "max"),
    arithmetic=("{} + {}", "{} - {}", "{} * {}", "-{}"),
    orders=("=", "!="),
    functors=False,
    risky=False,
    nested_aggregates=False,
    inline=True,
)

CHANGES = Fragment(
    kinds=(Kind.NUMBER, Kind.SYMBOL, Kind.FLOAT, Kind.UNSIGNED),
    literals=(
        "comparison",
        "negation",
        "aggregate",
        "equation",
        "negation",
        "disjunction",
        "aggregate",
        "range",
        "choice",
        "test",
    ),
    aggregates=("count", "sum", "min", "max", "mean"),
    arithmetic=("{} + {}", "{} - {}", "{} * {}", "min({}, {})", "-{}"),
    orders=("=", "!=", "<", "<=", ">", ">="),
    functors=True,
    risky=False,
    nested_aggregates=True,
    inline=True,
)
