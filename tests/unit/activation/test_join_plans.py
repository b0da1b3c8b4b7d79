"""A rule is joined literal by literal, always with the one of which most columns are known."""

from __future__ import annotations

from tidelog.activation.join_plans import join_plan
from tidelog.analysis.check import check
from tidelog.language.parser import parse
from unit.activation.test_figures import numbers
from unit.activation.watching import rules_for

RELATIONS = numbers(q=2, near=2, use=2, request=2, closed=1)


def plan(text, pinned):
    (rule,) = rules_for(check(parse(RELATIONS + text)), "q")
    return join_plan(rule, pinned, lambda constant: constant.value)


def relations(steps):
    return [step.literal.relation for step in steps]


def test_the_literal_with_most_columns_known_is_next():
    chain = plan("q(x, y) :- near(x, z), request(z, y), use(x, z).\n", 0)
    assert relations(chain.steps) == ["near", "use", "request"]
    assert [len(step.joined) for step in chain.steps] == [0, 2, 1]


def test_a_comparison_is_made_as_soon_as_both_sides_are_known():
    compared = plan("q(x, y) :- near(x, z), request(z, y), y < x, x > 3.\n", 0)
    assert [len(step.compared) for step in compared.steps] == [1, 1]


def test_what_must_not_be_there_is_looked_for_in_the_end():
    negated = plan("q(x, y) :- near(x, z), !closed(z), request(z, y).\n", 2)
    assert relations(negated.steps) == ["request", "near"]
    assert relations(negated.absent) == ["closed"]


def test_a_tuple_stands_for_the_first_of_several_literals_only():
    first, second = (plan("q(x, y) :- near(x, z), near(z, y).\n", pinned) for pinned in (0, 1))
    assert [step.excludes for step in first.steps] == [False, False]
    assert [step.excludes for step in second.steps] == [False, True]
