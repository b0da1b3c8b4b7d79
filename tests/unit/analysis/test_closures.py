"""Which rules are recognised as a closure, and which only look like one."""

import pytest

from tidelog.analysis import ClosureGroup, ClosureKind, check
from tidelog.language.parser import parse

DECLARATIONS = """
.decl e(a: number, b: number)
.decl f(a: number, b: number)
.decl r(a: number, b: number)
.decl e3(g: symbol, a: number, b: number)
.decl r3(g: symbol, a: number, b: number)
.decl m(a: number, g: symbol, b: number)
.input e, f, e3
"""
TRANSITIVE, SYMMETRIC = ClosureKind.TRANSITIVE, ClosureKind.SYMMETRIC


def closures(rules: str) -> list[ClosureGroup]:
    checked = check(parse(DECLARATIONS + rules))
    return [group for stratum in checked.strata for group in stratum.closures]


@pytest.mark.parametrize(
    ("rules", "edges"),
    [
        ("r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z).", None),
        ("r(x, y) :- e(x, y). r(x, z) :- r(y, z), r(x, y).", None),
        ("r(y, x) :- e(x, y). r(z, x) :- r(y, x), r(z, y).", None),
        ("r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z).", "e"),
        ("r(x, y) :- e(x, y). r(x, z) :- e(y, z), r(x, y).", "e"),
        ("r(x, y) :- e(x, y). r(x, z) :- e(x, y), r(y, z).", "e"),
        ("r(x, y) :- e(y, x). r(x, z) :- r(x, y), e(z, y).", "e"),
    ],
)
def test_a_transitive_closure_in_each_of_its_forms(rules, edges):
    assert closures(rules) == [ClosureGroup("r", TRANSITIVE, 0, 1, (), (2,), edges)]


def test_both_linear_forms_may_stand_together():
    rules = "r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z). r(x, z) :- e(x, y), r(y, z)."
    assert closures(rules) == [ClosureGroup("r", TRANSITIVE, 0, 1, (), (2, 3), "e")]


def test_several_edge_relations_are_followed_together():
    rules = "r(x, y) :- e(x, y). r(x, y) :- f(x, y). r(x, z) :- r(x, y), e(y, z). r(x, z) :- r(x, y), f(y, z)."
    assert closures(rules) == [ClosureGroup("r", TRANSITIVE, 0, 1, (), (3, 4), "e, f")]


@pytest.mark.parametrize(
    "composition",
    ["r(x, y), r(y, z)", "r(x, y), r(z, y)", "r(y, x), r(y, z)", "r(y, x), r(z, y)"],
)
def test_with_symmetry_the_arguments_of_a_composition_may_stand_either_way(composition):
    rules = f"r(x, y) :- e(x, y). r(x, y) :- r(y, x). r(x, z) :- {composition}."
    assert closures(rules) == [ClosureGroup("r", SYMMETRIC, 0, 1, (), (2, 3), None)]


def test_a_symmetric_closure_may_follow_edges_both_ways():
    rules = """r(x, y) :- e(x, y). r(x, y) :- r(y, x).
               r(x, z) :- r(x, y), e(y, z). r(x, z) :- r(x, y), e(z, y)."""
    assert closures(rules) == [ClosureGroup("r", SYMMETRIC, 0, 1, (), (2, 3, 4), "e")]


def test_columns_that_stay_the_same_are_the_group():
    rules = "r3(g, x, y) :- e3(g, x, y). r3(g, x, z) :- r3(g, x, y), r3(g, y, z)."
    assert closures(rules) == [ClosureGroup("r3", TRANSITIVE, 1, 2, (0,), (2,), None)]
    linear = "m(x, g, y) :- e3(g, x, y). m(x, g, z) :- m(x, g, y), e3(g, y, z)."
    assert closures(linear) == [ClosureGroup("m", TRANSITIVE, 0, 2, (1,), (2,), "e3")]


def test_a_composition_counts_in_a_larger_cycle_and_beside_other_rules():
    rules = """r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z). r(x, y) :- f(x, y), r3("a", x, y).
               r3("a", x, y) :- r(x, y), x > y. r(1, 2)."""
    assert closures(rules) == [ClosureGroup("r", TRANSITIVE, 0, 1, (), (2,), None)]


@pytest.mark.parametrize(
    "rules",
    [
        "r(x, y) :- f(x, y). r(x, z) :- r(x, y), e(y, z).",  # begins elsewhere
        "r(x, y) :- e(x, y). r(1, 2). r(x, z) :- r(x, y), e(y, z).",  # begins with more
        "r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(z, y).",  # follows edges backward
        "r(x, y) :- e(x, y). r(x, z) :- r(z, y), r(y, x).",  # turns the path round
        "r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z), x < z.",
        "r(x, y) :- e(x, y). r(x, x) :- r(x, y), r(y, x).",
        "r(x, y) :- e(x, y). r(x, y) :- r(y, x).",  # symmetric only
        "r(x, y) :- e(x, y). r(x, y) :- r(y, x). r(x, z) :- r(x, y), e(y, z).",  # a-b, c-b does not give a-c
        "r3(g, x, y) :- e3(g, x, y). r3(g, x, z) :- r3(g, x, y), r3(h, y, z), h = g.",
        "r(x, y) :- e(x, y) ; r(x, z), e(z, y).",  # one rule of the user's is both beginning and extension
        "r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z).\n.input r",
    ],
)
def test_what_only_looks_like_a_closure_is_none(rules):
    assert closures(rules) == []
