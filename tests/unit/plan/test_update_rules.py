"""Questions about a change find every head that may be lost, exactly those that are gained, and other derivations."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given

from tidelog.plan.nodes import RulePlan, Version
from tidelog.plan.optimize import optimize
from tidelog.plan.printer import print_rule_plan
from tidelog.plan.update_rules import Questionnaire, Sign, StratumQuestions, questions_of
from tidelog.schema import Row
from unit.plan.algebra import Tables, rows_of, versions
from unit.plan.rule_texts import RELATIONS, plan_of, rule_plan, rules, tables

Facts = Mapping[str, set[Row]]

HEAD = ".decl h(x: number, y: number)\n"


def questionnaire(text: str) -> Questionnaire:
    return questions_of(optimize(plan_of(f"{RELATIONS}{HEAD}{text}")))


def questions(text: str) -> StratumQuestions:
    """The questions about h."""
    (found,) = [each for each in questionnaire(text).strata if "h" in each.stratum.relations]
    return found


def shown(rules: list[RulePlan]) -> list[str]:
    """The questions as text, without those about facts that were given to h."""
    return [text for text in map(print_rule_plan, rules) if "h@given" not in text]


def test_each_scan_is_asked_about_once() -> None:
    found = questions("h(x, z) :- b(x, y), b(y, z).")
    starts = ["b(x, y)! ⋈ b(y, z) → h(x, z)", "b(x, y) ⋈ b(y, z)! → h(x, z)"]
    assert shown(found.lost["b", Sign.WENT]) == shown(found.gained["b", Sign.CAME]) == starts
    assert shown(found.outside["h"]) == ["h(x, z)! ⋈ b(x, y) ⋈ b(y, z) → h(x, z)"]


def test_what_comes_to_a_negated_relation_takes_and_what_goes_gives() -> None:
    found = questions("h(x, y) :- b(x, y), !a(y).")
    assert shown(found.lost["a", Sign.CAME]) == ["a(y)! ⋈ b(x, y) → h(x, y)"]
    assert shown(found.gained["a", Sign.WENT]) == ["a(y)! ▷ !a(y) ⋈ b(x, y) → h(x, y)"]
    assert ("a", Sign.WENT) not in found.lost
    assert ("a", Sign.CAME) not in found.gained


def test_what_is_lost_leaves_negations_out_and_what_is_gained_does_not() -> None:
    found = questions("h(x, y) :- b(x, y), !a(y), y > 1.")
    assert shown(found.lost["b", Sign.WENT]) == ["b(x, y)! | y > 1 → h(x, y)"]
    assert shown(found.gained["b", Sign.CAME]) == ["b(x, y)! | y > 1 ▷ !a(y) → h(x, y)"]


def test_explicit_facts_are_one_more_derivation_from_outside() -> None:
    found = questions("h(x, y) :- b(x, y).")
    assert list(map(print_rule_plan, found.lost["h@given", Sign.WENT])) == ["h@given(x, y)! → h(x, y)"]
    assert "h(x, y)! ⋈ h@given(x, y) → h(x, y)" in map(print_rule_plan, found.outside["h"])


RECURSIVE = "h(x, y) :- b(x, y). h(x, z) :- h(x, y), a(y), h(y, z)."


def test_within_a_stratum_only_younger_heads_are_put_in_doubt() -> None:
    assert shown(questions(RECURSIVE).lost["h", Sign.WENT]) == [
        "h(x, y, ~age)! ⋈ a(y) ⋈ h(y, z) ⋈ h(x, z, ~age)> → h(x, z)",
        "h(x, y) ⋈ a(y) ⋈ h(y, z, ~age)! ⋈ h(x, z, ~age)> → h(x, z)",
    ]


def test_what_a_lower_stratum_lost_puts_heads_of_any_age_in_doubt() -> None:
    assert shown(questions(RECURSIVE).lost["a", Sign.WENT]) == ["h(x, y) ⋈ a(y)! ⋈ h(y, z) → h(x, z)"]


def test_support_is_asked_for_from_outside_from_older_facts_and_from_any() -> None:
    found = questions(RECURSIVE)
    assert shown(found.outside["h"]) == ["h(x, y)! ⋈ b(x, y) → h(x, y)"]
    assert shown(found.older["h"]) == ["h(x, z, ~age)! ⋈ h(x, y, ~age)< ⋈ a(y) ⋈ h(y, z, ~age)< → h(x, z)"]
    assert shown(found.any["h"]) == ["h(x, z, _)! ⋈ h(x, y) ⋈ a(y) ⋈ h(y, z) → h(x, z)"]


def test_without_recursion_no_age_is_asked_for() -> None:
    found = questions("h(x, y) :- b(x, y), a(x).")
    assert (dict(found.older), dict(found.any)) == ({}, {})


def test_computed_and_constant_columns_of_a_head_are_tested() -> None:
    found = questions("h(x, y) :- b(x, y). h(x + 1, 7) :- h(x, y), a(y).")
    assert shown(found.lost["h", Sign.WENT]) == [
        "h(x, y, ~age)! | ~0 := x + 1 ⋈ a(y) ⋈ h(~0, 7, ~age)> → h(~0, 7)",
    ]
    assert shown(found.older["h"]) == ["h(~0, 7, ~age)! ⋈ h(x, y, ~age)< | ~0 = x + 1 ⋈ a(y) → h(~0, 7)"]


def grouped(text: str) -> tuple[StratumQuestions, str]:
    """The questions about h, and the name of the relation of its groups."""
    found = questions(text)
    (name,) = found.regroupings
    return found, name


def test_changed_rows_under_an_aggregate_say_which_groups_to_compute_again() -> None:
    found, groups = grouped("h(x, n) :- a(x), n = count : { b(x, y), !a(y) }.")
    assert shown(found.changed_groups["b"]) == [f"b(x, _)! → {groups}(x)"]
    assert shown(found.changed_groups["a"]) == [f"a(y)! ⋈ b(x, y) → {groups}(x)"]
    regrouping = found.regroupings[groups]
    assert regrouping.groups.names == ("x",)
    assert shown(list(regrouping.lost)) == [f"{groups}(x)! ⋈ a(x) ⋈ h(x, ~1) → h(x, ~1)"]
    assert print_rule_plan(regrouping.gained) == (
        f"{groups}(x)! ⋈ a(x) | n := count by x {{ {groups}(x)! ⋈ b(x, y) ▷ !a(y) }} → h(x, n)"
    )


def test_a_column_that_only_an_aggregate_gives_may_be_anything_stored() -> None:
    found, _ = grouped("h(x, n) :- a(x), n = count : { b(x, _) }.")
    assert shown(found.lost["a", Sign.WENT]) == ["a(x)! ⋈ h(x, ~1) → h(x, ~1)"]


def test_support_looks_only_at_the_groups_of_the_heads_in_doubt() -> None:
    found, _ = grouped("h(x, n) :- a(x), n = count : { b(x, _) }.")
    group = "distinct x of (h(x, _)! ⋈ a(x)) ⋈ b(x, _)"
    (question,) = shown(found.outside["h"])
    assert f"count by x {{ {group} }}" in question


def test_a_relation_whose_rows_do_not_tell_their_group_is_opaque() -> None:
    text = "h(n, m) :- a(x), n = count : { b(x, _) }, m = count : { c(y, _, _), y < n }."
    assert questions(text).opaque >= {"c"}
    assert questions("h(x, n) :- a(x), n = count : { c(y, _, _), y < x }.").opaque == set()


def test_readers_are_the_strata_that_a_relation_matters_to() -> None:
    found = questionnaire("h(x, y) :- b(x, y), !a(x). .decl g(x: number)\ng(n) :- n = count : { h(x, _), c(x, _, _) }.")
    h, g = (
        next(number for number, each in enumerate(found.strata) if name in each.stratum.relations)
        for name in ("h", "g")
    )
    read = {name: found.readers.get(name) for name in ("a", "b", "c", "h", "h@given", "g")}
    assert read == {"a": (h,), "b": (h,), "c": (g,), "h": (g,), "h@given": (h,), "g": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("g(x) :- h(x, y), h(y, x).", True), ("g(x) :- h(x, _), !h(_, x).", True), ("g(x) :- h(x, y), b(x, y).", False)],
)
def test_a_stratum_knows_whether_another_joins_it_with_itself(text: str, expected: bool) -> None:
    found = questions(f"h(x, y) :- b(x, y).\n.decl g(x: number)\n{text}")
    assert found.is_joined_with_itself is expected


def all_heads(text: str, facts: Facts) -> set[Row]:
    return set(rows_of(rule_plan(text).node, versions(facts, {})))


def answers(rules: list[RulePlan] | tuple[RulePlan, ...], stored: Facts, marked: Facts) -> set[Row]:
    """What questions answer where `stored` and `marked` facts are."""
    read: Tables = {
        **versions(stored, {}),
        **{(name, Version.MARKED): frozenset(rows) for name, rows in marked.items()},
    }
    return {row for rule in rules for row in rows_of(rule.node, read)}


class Change:
    """A rule, its facts before and after, and what its questions are about."""

    def __init__(self, text: str, old: Facts, new: Facts) -> None:
        self.questions = questions(text)
        self.before, self.after = all_heads(text, old), all_heads(text, new)
        self.both = {name: old[name] | new[name] for name in old} | {"h": self.before}
        self.new = dict(new)
        self.signed = [
            (name, sign, rows)
            for name in old
            for sign, rows in ((Sign.CAME, new[name] - old[name]), (Sign.WENT, old[name] - new[name]))
            if rows
        ]
        self.is_opaque = any(name in self.questions.opaque for name, _, _ in self.signed)
        self.groups: dict[str, set[Row]] = {name: set() for name in self.questions.regroupings}
        for name, _, rows in self.signed:
            for rule in self.questions.changed_groups.get(name, ()):
                self.groups[rule.head] |= answers([rule], self.both, {name: rows})


@given(rules(), tables(), tables())
def test_every_head_that_is_lost_is_asked_for(text: str, old: dict[str, set[Row]], new: dict[str, set[Row]]) -> None:
    change = Change(text, old, new)
    found: set[Row] = set()
    for name, sign, rows in change.signed:
        found |= answers(change.questions.lost.get((name, sign), []), change.both, {name: rows})
    for name, rows in change.groups.items():
        found |= answers(change.questions.regroupings[name].lost, change.both, {name: rows})
    assert change.is_opaque or change.before - change.after <= found


@given(rules(), tables(), tables())
def test_heads_that_are_gained_and_no_wrong_ones_are_asked_for(
    text: str, old: dict[str, set[Row]], new: dict[str, set[Row]]
) -> None:
    change = Change(text, old, new)
    found: set[Row] = set()
    for name, sign, rows in change.signed:
        found |= answers(change.questions.gained.get((name, sign), []), change.new, {name: rows})
    for name, rows in change.groups.items():
        found |= answers([change.questions.regroupings[name].gained], change.new, {name: rows})
    assert found <= change.after
    assert change.is_opaque or change.after - change.before <= found


@given(rules(), tables(), tables())
def test_a_head_has_support_where_the_rule_derives_it(
    text: str, old: dict[str, set[Row]], new: dict[str, set[Row]]
) -> None:
    change = Change(text, old, new)
    doubted = change.before | {(0, 0), (1, 2)}
    assert answers(change.questions.outside["h"], change.new, {"h": doubted}) == doubted & change.after
