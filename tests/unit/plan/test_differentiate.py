"""Delta versions find each new derivation once."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from tidelog.plan.differentiate import differentiate, joined_scans
from tidelog.plan.nodes import Version
from tidelog.plan.printer import print_rule_plan
from tidelog.schema import Row
from unit.plan.algebra import rows_of, versions
from unit.plan.rule_texts import plan_of, rule_plan, rules, tables

EVERY_RELATION = frozenset("abc")


def is_monotone(text: str) -> bool:
    return "!" not in text.replace("!=", "") and ":" not in text.replace(":-", "")


@given(rules().filter(is_monotone), tables(), tables())
def test_the_versions_together_give_what_is_new_and_each_derivation_once(
    text: str, old: dict[str, set[Row]], new: dict[str, set[Row]]
) -> None:
    rule = rule_plan(text)
    delta = {name: new[name] - old[name] for name in old}
    before, after = versions(old, {}), versions(old, delta)
    added: Counter[Row] = sum((rows_of(each.node, after) for each in differentiate(rule, EVERY_RELATION)), Counter())
    assert added == rows_of(rule.node, after) - rows_of(rule.node, before)


def test_scans_before_the_delta_read_old_rows_and_those_after_it_all_rows() -> None:
    rule = rule_plan("h(x, y) :- b(x, z), b(z, w), b(w, y).")
    found = [[scan.version for scan in joined_scans(each.node)] for each in differentiate(rule, frozenset("b"))]
    assert found == [
        [Version.DELTA, Version.FULL, Version.FULL],
        [Version.OLD, Version.DELTA, Version.FULL],
        [Version.OLD, Version.OLD, Version.DELTA],
    ]


def test_a_rule_that_reads_nothing_recursive_has_no_versions() -> None:
    assert differentiate(rule_plan("h(x, y) :- b(x, y)."), frozenset("a")) == ()


def test_negated_and_aggregated_relations_are_read_in_full() -> None:
    rule = rule_plan("h(x, n) :- a(x), !b(x, _), n = count : { c(x, _, _) }.")
    (version,) = differentiate(rule, frozenset("a"))
    assert print_rule_plan(version) == "a(x)Δ ▷ !b(x, _) | n := count by x { c(x, _, _) } → h(x, n)"


def test_an_aggregate_that_starts_from_outer_values_starts_from_those_of_the_same_version() -> None:
    rule = rule_plan("h(x, n) :- a(x), n = count : { b(y, _), y < x }.")
    (version,) = differentiate(rule, frozenset("a"))
    inner = "distinct x of (a(x)Δ) ⋈ b(y, _) | y < x"
    assert print_rule_plan(version) == f"a(x)Δ | n := count by x {{ {inner} }} → h(x, n)"


def test_plan_hints_go_to_the_version_they_name() -> None:
    plan = plan_of("""
        .decl e(x: number, y: number)
        .decl p(x: number, y: number)
        p(x, y) :- e(x, y). .plan 0:(1)
        p(x, z) :- p(x, y), p(y, z). .plan 1:(2,1)
    """)
    (stratum,) = plan.strata
    assert [rule.order for rule in stratum.once] == [(0,)]
    assert [rule.order for rule in stratum.rounds] == [None, (1, 0)]
    assert [rule.order for rule in stratum.first] == [None]
