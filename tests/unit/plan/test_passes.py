"""Every pass keeps the bag of rows that a rule gives, and does what it is for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from tidelog.plan.nodes import Plan, RulePlan, StratumPlan
from tidelog.plan.optimize import PASSES, optimize
from tidelog.plan.passes.fold_constants import fold_constants
from tidelog.plan.passes.merge_equals import merge_equals
from tidelog.plan.passes.prune_columns import prune_columns
from tidelog.plan.passes.push_filters import push_filters
from tidelog.plan.printer import print_rule_plan
from tidelog.schema import Row
from unit.plan.algebra import rows_of, versions
from unit.plan.rule_texts import plan_of, rule_plan, rules, tables


def after(rewrite: Callable[[Plan], Plan], rule: RulePlan) -> RulePlan:
    """`rule` rewritten by a pass over plans."""
    plan = rewrite(Plan({}, (StratumPlan(("h",), (rule,), ()),), {}))
    return plan.strata[0].once[0]


def shown(rewrite: Callable[[Plan], Plan], text: str) -> str:
    """How the rule in `text` is computed after a pass."""
    return print_rule_plan(after(rewrite, rule_plan(text)))


@pytest.mark.parametrize("rewrite", [*dict.fromkeys(PASSES), optimize], ids=lambda rewrite: rewrite.__name__)
@given(rules(), tables())
def test_a_pass_keeps_the_bag_of_rows(rewrite: Callable[[Plan], Plan], text: str, facts: dict[str, set[Row]]) -> None:
    rule = rule_plan(text)
    stored = versions(facts, {})
    assert rows_of(after(rewrite, rule).node, stored) == rows_of(rule.node, stored)


@given(rules())
def test_optimizing_twice_changes_nothing_more(text: str) -> None:
    once = after(optimize, rule_plan(text))
    assert after(optimize, once) == once


def test_constant_expressions_are_computed() -> None:
    assert shown(fold_constants, "h(x, 2 * 3) :- b(x, y), y < 1 + 1.") == "b(x, y) | y < 2 → h(x, 6)"


def test_an_expression_without_a_value_stays() -> None:
    assert shown(fold_constants, "h(x, y) :- b(x, y), y < 1 / 0.") == "b(x, y) | y < 1 / 0 → h(x, y)"


def test_a_body_that_cannot_hold_reads_nothing() -> None:
    assert shown(fold_constants, "h(x, y) :- b(x, y), 1 > 2.") == "nothing → h(x, y)"


def test_a_test_that_always_holds_is_gone() -> None:
    assert shown(fold_constants, 'h(x, y) :- b(x, y), match("a*", "aa"), 1 < 2.') == "b(x, y) → h(x, y)"


def test_a_variable_equal_to_a_constant_becomes_a_constant_of_the_scan() -> None:
    assert shown(merge_equals, "h(x, y) :- b(x, y), a(x), x = 3.") == "b(3, y) ⋈ a(3) → h(3, y)"


def test_two_equal_variables_become_one() -> None:
    assert shown(merge_equals, "h(x, y) :- a(x), a(y), x = y.") == "a(x) ⋈ a(x) → h(x, x)"


def test_a_constant_reaches_into_an_aggregate() -> None:
    text = "h(x, n) :- a(x), x = 3, n = count : { b(x, _) }."
    assert shown(merge_equals, text) == "a(3) | n := count { b(3, _) } → h(3, n)"


def test_an_aggregate_does_not_start_from_an_outer_value_that_is_a_constant() -> None:
    text = "h(x, n) :- a(x), x = 3, n = count : { a(y), y < x }."
    assert shown(merge_equals, text) == "a(3) | n := count { true ⋈ a(y) | y < 3 } → h(3, n)"
    assert shown(optimize, text) == "a(3) | n := count { a(y) | y < 3 } → h(3, n)"


def test_a_local_equality_of_an_aggregate_is_merged_into_its_key() -> None:
    text = "h(x, n) :- a(x), n = count : { b(y, _), y = x }."
    assert shown(merge_equals, text) == "a(x) | n := count by x { b(x, _) } → h(x, n)"


def test_a_group_keeps_its_name_when_an_atom_binds_it_too() -> None:
    text = "h(x, n) :- a(n), b(x, n), n = count : { c(x, _, _) }."
    assert shown(optimize, text) == "a(n) ⋈ b(x, n) | @1 := count by x { c(x, _, _) } | n = @1 → h(x, n)"


def test_a_filter_moves_down_to_the_scan_that_binds_its_names() -> None:
    text = "h(x, z) :- b(x, y), b(y, z), x < 3, y > z."
    assert shown(push_filters, text) == "b(x, y) | x < 3 ⋈ b(y, z) | y > z → h(x, z)"


def test_an_equality_with_an_expression_gives_the_join_a_key() -> None:
    text = "h(x, z) :- b(x, y), b(w, z), w = y + 1."
    assert shown(push_filters, text) == "b(x, y) | w := y + 1 ⋈ b(w, z) → h(x, z)"


def test_columns_that_nobody_reads_are_ignored() -> None:
    assert shown(prune_columns, "h(x, 1) :- b(x, y), c(x, z, w), w > 1.") == "b(x, _) ⋈ c(x, _, w) | w > 1 → h(x, 1)"


def test_under_an_aggregate_every_column_is_kept() -> None:
    text = "h(x, n) :- b(x, w), n = count : { b(x, y) }."
    assert shown(prune_columns, text) == "b(x, _) | n := count by x { b(x, y) } → h(x, n)"


def test_a_value_that_may_fail_is_computed_though_nobody_reads_it() -> None:
    assert shown(optimize, "h(x, y) :- b(x, y), z = 1 / y.") == "b(x, y) | z := 1 / y → h(x, y)"


def test_passes_leave_facts_alone() -> None:
    plan = plan_of(".decl e(x: number)\ne(1). e(2).")
    assert optimize(plan) == plan
