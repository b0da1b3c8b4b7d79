"""Which strategy a stratum gets, and what each partition needs for it."""

from __future__ import annotations

import pytest

from answers import checked_program
from tidelog.errors import UsageError
from tidelog.plan.lower import lower
from tidelog.plan.modules import with_modules
from tidelog.plan.nodes import Plan, StratumPlan
from tidelog.plan.optimize import optimize
from tidelog.plan.placement import EVERYWHERE, place_preserved, place_rounds
from tidelog.plan.reduction import Bounds, Reduction, Strategy, choose

PAIRS = ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\npath(x, y) :- edge(x, y).\n"
RIGHT = PAIRS + "path(x, z) :- path(x, y), edge(y, z).\n"
LEFT = PAIRS + "path(x, z) :- edge(x, y), path(y, z).\n"
NON_LINEAR = PAIRS + "path(x, z) :- path(x, y), path(y, z).\n"
MUTUAL = """
.decl a(g: number, x: number)
.decl p(x: number, g: number)
.decl q(g: number, x: number)
p(x, g) :- a(g, x).
q(g, y) :- p(x, g), a(g, y), x < y.
p(y, g) :- q(g, x), a(x, y).
"""


def recursive(text: str, *, modules: bool = False) -> tuple[StratumPlan, Plan]:
    """The last stratum of a program that is recursive."""
    plan = optimize(lower(checked_program(text)))
    plan = with_modules(plan) if modules else plan
    return [stratum for stratum in plan.strata if stratum.rounds or stratum.closed][-1], plan


def chosen(text: str, sizes: dict[str, int], forced: Strategy | None = None, *, modules: bool = False) -> Reduction:
    stratum, plan = recursive(text, modules=modules)
    return choose(stratum, plan, sizes, partitions=4, forced=forced)


def preserved_owners(text: str) -> dict[str, int] | None:
    stratum, plan = recursive(text)
    found = place_preserved(stratum, {**plan.schemas, **plan.hidden}, {})
    return None if found is None else dict(found.owners)


def test_a_path_that_grows_at_its_end_keeps_its_source() -> None:
    assert preserved_owners(RIGHT) == {"path": 0}


def test_a_path_that_grows_at_its_beginning_keeps_its_target() -> None:
    assert preserved_owners(LEFT) == {"path": 1}


def test_paths_that_are_joined_with_paths_keep_nothing() -> None:
    assert preserved_owners(NON_LINEAR) is None


def test_relations_of_one_stratum_may_keep_a_variable_in_different_columns() -> None:
    assert preserved_owners(MUTUAL.replace("a(x, y)", "a(g, y), x != y")) == {"p": 1, "q": 0}


def test_one_rule_that_loses_the_variable_is_enough() -> None:
    assert preserved_owners(MUTUAL.replace("p(y, g) :- q(g, x)", "p(y, x) :- q(g, x)")) is None


def test_an_atom_without_the_variable_is_copied_everywhere_and_one_with_it_is_shared_out() -> None:
    stratum, plan = recursive(RIGHT)
    placed = place_preserved(stratum, {**plan.schemas, **plan.hidden}, {})
    assert placed is not None
    assert set(placed.copies()) == {("path@given", 0), ("edge", 0), ("edge", EVERYWHERE)}


def test_a_fact_of_the_text_is_derived_everywhere_and_kept_by_its_owner() -> None:
    stratum, plan = recursive(RIGHT + "path(1, 2).")
    placed = place_preserved(stratum, {**plan.schemas, **plan.hidden}, {})
    assert placed is not None
    assert [each.is_restricted for each in placed.once if "path(1, 2)" in each.rule.text] == [False]


def test_a_join_of_two_recursive_atoms_is_placed_by_what_they_share() -> None:
    stratum, plan = recursive(NON_LINEAR)
    placed = place_rounds(stratum, {**plan.schemas, **plan.hidden}, {"edge": 10}, 4)
    assert sorted(placed.ways["path"]) == [0, 1]
    assert EVERYWHERE not in placed.ways["path"]


def test_a_small_relation_is_copied_rather_than_a_large_one_sent_round() -> None:
    text = RIGHT + ".decl other(x: number)\npath(z, y) :- path(x, y), other(z)."
    stratum, plan = recursive(text)
    placed = place_rounds(stratum, {**plan.schemas, **plan.hidden}, {"edge": 10**6, "other": 2}, 4)
    assert ("other", EVERYWHERE) in set(placed.copies())
    assert EVERYWHERE not in placed.ways["path"]


def test_few_rows_take_one_task_and_many_are_shared_out() -> None:
    assert chosen(RIGHT, {"edge": 100, "path@given": 0}).strategy is Strategy.ALONE
    assert chosen(RIGHT, {"edge": 10**6, "path@given": 0}).strategy is Strategy.PRESERVED
    assert chosen(NON_LINEAR, {"edge": 10**6, "path@given": 0}).strategy is Strategy.ALONE
    assert chosen(NON_LINEAR, {"edge": 10**7, "path@given": 0}).strategy is Strategy.ASYNCHRONOUS


def test_edges_too_many_to_copy_are_followed_in_rounds() -> None:
    stratum, plan = recursive(RIGHT)
    found = choose(stratum, plan, {"edge": 10**6}, partitions=4, bounds=Bounds(everywhere=10**5))
    assert found.strategy is Strategy.ASYNCHRONOUS


def test_a_closure_is_shared_out_by_source_or_by_group() -> None:
    grouped = RIGHT.replace("x: number", "g: number, x: number").replace("(x,", "(g, x,").replace("(y,", "(g, y,")
    assert chosen(RIGHT, {"path@edges": 10**6}, modules=True).columns == (0,)
    assert chosen(grouped, {"path@edges": 10**6}, modules=True).columns == (0,)
    assert "groups" in chosen(grouped, {"path@edges": 10**6}, modules=True).reason


def test_the_reason_says_what_stays_and_what_is_copied() -> None:
    reason = chosen(RIGHT, {"edge": 10**6, "path@given": 0}).reason
    assert reason == (
        "no row leaves its partition: path by x; reads path@given by x, edge by x; each partition has all of edge"
    )


def test_a_strategy_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(UsageError, match="the stratum of path cannot be evaluated by the strategy preserved"):
        chosen(NON_LINEAR, {}, Strategy.PRESERVED)


def test_what_partitions_would_number_differently_is_left_to_frames() -> None:
    text = ".decl s(x: symbol)\n.decl r(n: number)\nr(ord(x)) :- s(x).\nr(n) :- r(m), s(x), n = ord(x), n > m."
    assert chosen(text, {}).strategy is Strategy.FRAMES


def test_a_limit_on_size_is_kept_by_one_task() -> None:
    found = chosen(RIGHT + ".limitsize path(n=10)", {"edge": 10**7})
    assert (found.strategy, found.partitions) == (Strategy.ALONE, 1)
    assert "size of path" in found.reason
