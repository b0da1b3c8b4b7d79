"""What a rule becomes: a left-deep tree in text order under its head."""

from __future__ import annotations

import pytest

from tidelog.plan.nodes import Project, Values
from tidelog.plan.printer import print_rule_plan
from tidelog.schema import Kind
from unit.plan.algebra import rows_of, versions
from unit.plan.rule_texts import plan_of, rule_plan


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("h(x, z) :- b(x, y), b(y, z).", "b(x, y) ⋈ b(y, z) → h(x, z)"),
        ("h(x, 1) :- c(x, x, 2), b(_, x).", "c(x, x, 2) ⋈ b(_, x) → h(x, 1)"),
        ("h(x, y) :- b(x, y), x < y, a(y).", "b(x, y) | x < y ⋈ a(y) → h(x, y)"),
        ("h(x, y) :- x < y, b(x, y).", "b(x, y) | x < y → h(x, y)"),
        ("h(x, y) :- y = x + 1, a(x).", "a(x) | y := x + 1 → h(x, y)"),
        ("h(x, y) :- a(x), x + 1 = y.", "a(x) | y := x + 1 → h(x, y)"),
        ("h(x, y) :- a(x), b(x + 1, y).", "a(x) | #1 := x + 1 ⋈ b(#1, y) → h(x, y)"),
        ("h(x, y) :- b(x + 1, y), a(x).", "b(#1, y) ⋈ a(x) | #1 = x + 1 → h(x, y)"),
        ("h(x, y) :- !b(y, x), b(x, y), !a(1).", "b(x, y) ▷ !b(y, x) ▷ !a(1) → h(x, y)"),
        ("h(x, 1) :- a(x), !b(x + 1, _).", "a(x) | #1 := x + 1 ▷ !b(#1, _) → h(x, 1)"),
        ("h(x, y) :- a(x), y = range(0, x, 2).", "a(x) | y in range(0, x, 2) → h(x, y)"),
        ("h(x, y) :- b(x, y), x = range(0, y).", "b(x, y) | @1 in range(0, y) | x = @1 → h(x, y)"),
        ('h(x, 1) :- a(x), contains("a", to_string(x)).', 'a(x) | contains("a", to_string(x)) → h(x, 1)'),
        ("h(x, 1) :- a(x), true.", "a(x) → h(x, 1)"),
        ("h(1 / 0, 2).", "true → h(1 / 0, 2)"),
        ("h(x, y) :- x = 1, y = x.", "x := 1 | y := x → h(x, y)"),
    ],
)
def test_a_rule_becomes(rule: str, expected: str) -> None:
    assert print_rule_plan(rule_plan(rule)) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("h(x, n) :- a(x), n = count : { b(x, _) }.", "a(x) | n := count by x { b(x, _) } → h(x, n)"),
        ("h(n, n) :- n = max y : { b(_, y) }.", "n := max y { b(_, y) } → h(n, n)"),
        ("h(x, x) :- a(x), 2 < count : { b(_, _) }.", "a(x) | @1 := count { b(_, _) } | 2 < @1 → h(x, x)"),
        (
            "h(x, n) :- a(x), n = count : { b(y, _), y < x }.",
            "a(x) | n := count by x { distinct x of (a(x)) ⋈ b(y, _) | y < x } → h(x, n)",
        ),
        ("h(x, n) :- b(x, n), n = count : { a(_) }.", "b(x, n) | @1 := count { a(_) } | n = @1 → h(x, n)"),
        (
            "h(x, n) :- n = count : { b(x, _) }, a(x).",
            "a(x) | n := count by x { b(x, _) } → h(x, n)",
        ),
        (
            "h(n, m) :- m = sum y : { b(n, y) }, n = count : { a(_) }.",
            "@1 := count { a(_) } | n := @1 | m := sum y by n { b(n, y) } → h(n, m)",
        ),
    ],
)
def test_an_aggregate_becomes_a_group(rule: str, expected: str) -> None:
    assert print_rule_plan(rule_plan(rule)) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            "h(n, n) :- n = count : { b(x, _), (x = 1 ; x > 3) }.",
            "n := count { distinct x, _#1 of (b(x, _#1) | x = 1 ∪ b(x, _#1) | x > 3) } → h(n, n)",
        ),
        (
            "h(x, n) :- a(x), n = sum y : { (b(x, y) ; a(y)) }.",
            "a(x) | n := sum y by x { distinct x, y of (b(x, y) ∪ distinct x of (a(x)) ⋈ a(y)) } → h(x, n)",
        ),
        (
            "h(n, n) :- n = count : { (b(x, y) ; a(x)) }.",
            "n := count { distinct x, y, #1 of (b(x, y) | #1 := 0 ∪ a(x) | y := 0 | #1 := 1) } → h(n, n)",
        ),
        (
            "h(n, n) :- n = max x : { (b(x, _) ; b(_, x)) }.",
            "n := max x { distinct x of (b(x, _#1) ∪ b(_#2, x)) } → h(n, n)",
        ),
        ("h(n, n) :- n = sum x : { a(x), false }.", "n := sum x { nothing } → h(n, n)"),
        (
            "h(n, n) :- n = count : { a(x), range(0, x) = range(1, 4) }.",
            "n := count { distinct x of (a(x) | @1 in range(0, x) | @2 in range(1, 4) | @1 = @2) } → h(n, n)",
        ),
    ],
)
def test_an_aggregate_over_alternatives_becomes_a_group_of_different_assignments(rule: str, expected: str) -> None:
    assert print_rule_plan(rule_plan(rule)) == expected


def test_wildcards_of_an_aggregate_count_each_row() -> None:
    rule = rule_plan("h(x, n) :- a(x), n = count : { c(x, _, _) }.")
    stored = versions({"a": {(1,)}, "c": {(1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 1, 1)}}, {})
    assert set(rows_of(rule.node, stored)) == {(1, 3)}


def test_all_facts_of_a_relation_become_one_plan_that_goes_by_the_first() -> None:
    plan = plan_of(".decl e(x: number, y: number)\n.decl f(x: number)\ne(1, 2).\nf(7).\ne(3, -(4) + 1).")
    facts = {rule.head: rule for stratum in plan.strata for rule in stratum.once}
    assert facts.keys() == {"e", "f"}
    assert facts["e"].id == 1
    assert isinstance(facts["e"].node, Project)
    assert facts["e"].node.input == Values(("x", "y"), (Kind.NUMBER, Kind.NUMBER), ((1, 2), (3, -3)))


def test_recursive_rules_run_in_rounds_and_others_once() -> None:
    plan = plan_of("""
        .decl e(x: number, y: number)
        .decl p(x: number, y: number)
        p(x, y) :- e(x, y).
        p(x, z) :- p(x, y), e(y, z).
    """)
    (stratum,) = plan.strata
    assert [print_rule_plan(rule) for rule in stratum.once] == ["e(x, y) → p(x, y)"]
    assert [print_rule_plan(rule) for rule in stratum.first] == ["p(x, y) ⋈ e(y, z) → p(x, z)"]
    assert [print_rule_plan(rule) for rule in stratum.rounds] == ["p(x, y)Δ ⋈ e(y, z) → p(x, z)"]


def test_every_name_of_a_plan_has_a_kind() -> None:
    rule = rule_plan("h(x, 2 * n) :- b(x + 1, y), a(x), n = count : { c(x, y, _) }, x = range(0, n).")
    assert {"x", "y", "n", "#1", "@2"} <= rule.kinds.keys()
