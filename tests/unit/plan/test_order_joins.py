"""The order of joins depends on sizes, never on the order of the text."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import pytest
from hypothesis import given

from tidelog.plan.differentiate import differentiate
from tidelog.plan.nodes import Node, Project, Version
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.printer import print_node
from tidelog.schema import Row
from unit.plan.algebra import rows_of, versions
from unit.plan.rule_texts import plan_of, rule_plan, rules, tables


@dataclass(frozen=True)
class Sizes:
    """Statistics from a table: rows of each relation and the number of different values of each column."""

    full: Mapping[str, int]
    columns: Mapping[tuple[str, int], int]
    delta: int = 0

    def rows(self, relation: str, version: Version) -> int:
        return self.delta if version is Version.DELTA else self.full.get(relation, 0)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:
        product = 1
        for column in columns:
            product *= self.columns.get((relation, column), self.full.get(relation, 1))
        return max(1, min(product, self.full.get(relation, 1)))


class CountedSizes:
    """Statistics counted from the rows themselves."""

    def __init__(self, facts: Mapping[str, set[Row]]) -> None:
        self._facts = facts

    def rows(self, relation: str, version: Version) -> int:  # noqa: ARG002
        return len(self._facts[relation])

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int:
        return max(1, len({tuple(row[column] for column in columns) for row in self._facts[relation]}))


def relations_in_order(node: Node) -> list[str]:
    """The relations joined, in order."""
    return re.findall(r"(\w+)\(", print_node(node).split("→")[0])


LUBM = Sizes(
    {
        "student": 140_000,
        "faculty": 30_000,
        "advisor": 60_000,
        "teacherOf": 50_000,
        "takesCourse": 400_000,
        "gradStudent": 40_000,
        "memberOf": 160_000,
        "subOrg": 4_000,
        "degreeFrom": 90_000,
    },
    {
        ("advisor", 0): 60_000,
        ("advisor", 1): 15_000,
        ("teacherOf", 0): 30_000,
        ("teacherOf", 1): 50_000,
        ("takesCourse", 0): 140_000,
        ("takesCourse", 1): 50_000,
        ("memberOf", 0): 160_000,
        ("memberOf", 1): 2_000,
        ("subOrg", 0): 3_000,
        ("subOrg", 1): 200,
        ("degreeFrom", 0): 45_000,
        ("degreeFrom", 1): 200,
    },
)
QNINE = ["student(x)", "faculty(y)", "advisor(x, y)", "teacherOf(y, z)", "takesCourse(x, z)"]
QTWO = ["gradStudent(x)", "memberOf(x, d)", "subOrg(d, u)", "degreeFrom(x, u)"]
LUBM_RELATIONS = """
.decl student(a: number)
.decl faculty(a: number)
.decl gradStudent(a: number)
.decl advisor(a: number, b: number)
.decl teacherOf(a: number, b: number)
.decl takesCourse(a: number, b: number)
.decl memberOf(a: number, b: number)
.decl subOrg(a: number, b: number)
.decl degreeFrom(a: number, b: number)
.decl h(x: number)
"""


def lubm_order(body: tuple[str, ...]) -> str:
    plan = plan_of(f"{LUBM_RELATIONS}h(x) :- {', '.join(body)}.")
    (rule,) = [rule for stratum in plan.strata for rule in stratum.once]
    return print_node(order_joins(rule.node, LUBM))


@pytest.mark.parametrize("body", [QNINE, QTWO], ids=["qnine", "qtwo"])
def test_every_text_order_of_a_body_gives_the_same_plan(body: list[str]) -> None:
    orders = list(permutations(body))[::7]
    assert len({lubm_order(order) for order in orders}) == 1


def test_a_badly_written_body_does_not_multiply_what_nothing_joins() -> None:
    assert lubm_order(tuple(QNINE)).startswith("faculty(y) ⋈ advisor(x, y) ⋈ student(x) ⋈ ")


@given(rules(), tables())
def test_ordering_keeps_the_bag_of_rows(text: str, facts: dict[str, set[Row]]) -> None:
    node = rule_plan(text).node
    stored = versions(facts, {})
    assert rows_of(order_joins(node, CountedSizes(facts)), stored) == rows_of(node, stored)


def test_a_small_delta_comes_first() -> None:
    rule = rule_plan("h(x, z) :- b(x, y), c(y, z, _).")
    (version,) = differentiate(rule, frozenset("c"))
    sizes = Sizes({"b": 10_000, "c": 10_000}, {("b", 1): 1_000, ("c", 0): 1_000}, delta=5)
    assert relations_in_order(order_joins(version.node, sizes)) == ["c", "b"]


def test_joins_come_before_products() -> None:
    node = rule_plan("h(x, w) :- a(x), c(_, w, _), b(x, w).").node
    sizes = Sizes({"a": 10, "b": 1_000_000, "c": 10}, {})
    assert relations_in_order(order_joins(node, sizes))[1] == "b"


def test_a_plan_hint_decides() -> None:
    node = rule_plan("h(x, z) :- a(x), b(x, y), c(y, z, _).").node
    sizes = Sizes({"a": 1, "b": 1_000, "c": 1_000}, {})
    assert relations_in_order(order_joins(node, sizes, (2, 1, 0))) == ["c", "b", "a"]


def test_a_comparison_stands_right_above_the_join_that_binds_its_last_name() -> None:
    node = rule_plan("h(x, y) :- a(x), b(y, z), !a(z), x < y.").node
    sizes = Sizes({"a": 100, "b": 1_000}, {})
    assert print_node(order_joins(node, sizes)).startswith("a(x) ⋈ b(y, z) | x < y ▷ !a(z)")


def test_an_equality_gives_the_key_of_a_join_whichever_side_comes_first() -> None:
    node = rule_plan("h(x, z) :- c(w, z, _), b(x, y), w = y + 1.").node
    sizes = Sizes({"b": 10, "c": 1_000_000}, {("c", 0): 500_000})
    assert print_node(order_joins(node, sizes)).startswith("b(x, y) | w := y + 1 ⋈ c(w, z, _)")


def test_the_body_of_an_aggregate_is_ordered_too() -> None:
    node = rule_plan("h(x, n) :- a(x), n = count : { c(x, y, _), b(y, x), y = 2 }.").node
    sizes = Sizes({"a": 10, "b": 10, "c": 1_000_000}, {("c", 0): 10, ("c", 1): 100})
    assert "{ y := 2 ⋈ b(y, x) ⋈ c(x, y, _) }" in print_node(order_joins(node, sizes))


def test_many_atoms_are_ordered_in_a_blink() -> None:
    chain = ", ".join(f"b(x{step}, x{step + 1})" for step in range(14))
    sizes = Sizes({"b": 1_000}, {("b", 0): 500, ("b", 1): 500})
    node = rule_plan(f"h(x0, x14) :- {chain}.").node
    start = time.perf_counter()
    assert len(relations_in_order(order_joins(node, sizes))) == 14
    assert time.perf_counter() - start < 1.0


def test_an_empty_relation_is_read_first() -> None:
    node = rule_plan("h(x, z) :- b(x, y), c(y, z, _).").node
    assert relations_in_order(order_joins(node, Sizes({"b": 10, "c": 0}, {}))) == ["c", "b"]


def test_a_body_is_ordered_anew_for_other_sizes_and_made_once_for_each_order() -> None:
    node = rule_plan("h(x, z) :- b(x, y), c(y, z, _).").node
    first, other, again = (order_joins(node, Sizes({"b": b, "c": c}, {})) for b, c in ((10, 900), (900, 10), (20, 999)))
    assert [relations_in_order(each) for each in (first, other, again)] == [["b", "c"], ["c", "b"], ["b", "c"]]
    assert isinstance(first, Project)
    assert isinstance(again, Project)
    assert first is not again
    assert first.input is again.input


def test_a_program_that_is_read_again_has_the_bodies_that_were_made_before() -> None:
    sizes = Sizes({"b": 10, "c": 900}, {})
    text = "h(x, z) :- b(x, y), c(y, z, _)."
    first, again = (order_joins(rule_plan(text).node, sizes) for _ in range(2))
    moved = order_joins(rule_plan(" " + text).node, sizes)
    assert isinstance(first, Project)
    assert isinstance(again, Project)
    assert isinstance(moved, Project)
    assert first.input is again.input
    assert moved == first
    assert moved.input is not first.input  # errors name the place


def test_the_body_of_an_aggregate_is_ordered_anew_for_other_sizes() -> None:
    node = rule_plan("h(x, n) :- a(x), n = count : { c(x, y, _), b(y, x) }.").node
    for b, c, inner in ((10, 1_000, "{ b(y, x) ⋈ c(x, y, _) }"), (1_000, 10, "{ c(x, y, _) ⋈ b(y, x) }")):
        sizes = Sizes({"a": 10, "b": b, "c": c}, {("c", 0): 10, ("c", 1): 10, ("b", 0): 10, ("b", 1): 10})
        assert inner in print_node(order_joins(node, sizes))
