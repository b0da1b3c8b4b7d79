"""`python -m benchmarks.change_shares [name…]`: how much of a materialisation goes, or stays, with 1,000 random facts.

Whoever deletes by derivations must go through those that go, whoever starts over through those that stay, and whoever
inserts through those that come, which are as many as had gone: what a change must at least do if each derivation takes
the same (docs/algorithms/modular-materialisation.md). It is said of programs without negation, where what can be
derived after a deletion could be before. A derivation is a rule with a value for each of its variables.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.random import default_rng

import tidelog
from benchmarks.generators import Rows, prepare
from benchmarks.names import one_of
from benchmarks.table import markdown
from benchmarks.update_measure import chosen, opened, without
from benchmarks.workloads import DEFAULT_DATA, PROGRAMS
from tidelog.language.printer import print_body
from tidelog.language.syntax_tree import Rule

NAMES = ("andersen", "cspa", "sg_graph")
CHANGED = 1_000


@dataclass(frozen=True, slots=True)
class Work:
    """The rows that rules give, and the derivations by which they do."""

    rows: int
    derivations: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.change_shares", description=__doc__)
    parser.add_argument("names", nargs="*", type=one_of(NAMES), default=NAMES, metavar="name", help=", ".join(NAMES))
    parser.add_argument("--choices", type=int, default=5, help="how often other facts are chosen")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    options = parser.parse_args(arguments)
    header = ["", "rows", "derivations", "facts", "rows that vanish", "derivations that go", "that stay"]
    print(markdown(header, [shares_of(name, options.choices, options.data) for name in options.names]))


def shares_of(name: str, choices: int, data: Path) -> list[str]:
    """A line of the table."""
    text = (PROGRAMS / f"{name}.dl").read_text(encoding="utf-8")
    folder = prepare(name, data)
    facts = {path.stem: np.loadtxt(path, dtype=np.int64, ndmin=2) for path in sorted(folder.glob("*.facts"))}
    whole = work_of(text, facts)
    left = []
    for seed in range(choices):
        gone = chosen(facts, CHANGED, default_rng(seed))
        kept = {relation: without(facts[relation], rows) for relation, rows in gone.items()}
        left.append(work_of(text, {**facts, **kept}))
    return [
        name,
        f"{whole.rows:,}",
        f"{whole.derivations:,}",
        f"{CHANGED / sum(map(len, facts.values())):.3f}",
        span([1 - each.rows / whole.rows for each in left]),
        span([1 - each.derivations / whole.derivations for each in left]),
        span([each.derivations / whole.derivations for each in left]),
    ]


def work_of(text: str, facts: Mapping[str, Rows]) -> Work:
    """What a program derives from `facts`, found by asking what holds in the end: how it was derived is no matter."""
    program = tidelog.parse(text)
    with opened(tidelog.check(program), facts, modules=True) as session:
        stored = {relation: session[relation].to_arrow() for relation in session}
    derived = sum(table.num_rows for relation, table in stored.items() if relation not in facts)
    rules = [item for item in program.items if isinstance(item, Rule)]
    with tidelog.open(counting(rules, stored)) as counted:
        for relation, table in stored.items():
            counted.insert(relation, table)
        return Work(derived, sum(count for number in range(len(rules)) for (count,) in counted[f"rule_{number}"]))


def counting(rules: Sequence[Rule], stored: Mapping[str, pa.Table]) -> str:
    """A program that counts for each rule the values for which its body holds."""
    lines = []
    for relation, table in stored.items():
        columns = ", ".join(f"{name}: number" for name in table.column_names)
        lines.append(f".decl {relation}({columns})\n.input {relation}")
    for number, rule in enumerate(rules):
        lines.append(f".decl rule_{number}(n: number)\nrule_{number}(n) :- n = count : {{ {print_body(rule.body)} }}.")
    return "\n".join(lines)


def span(shares: Sequence[float]) -> str:
    """The least and the greatest of them."""
    return f"{min(shares):.2f} to {max(shares):.2f}"


if __name__ == "__main__":
    main()
