"""How production rules run on Spark: who shares what, and why not."""

from __future__ import annotations

import pytest

from answers import checked_program
from tidelog.errors import UsageError
from tidelog.pipeline.production.placement import AT_ONE_PLACE, place
from tidelog.pipeline.production.strategy import choose
from tidelog.plan.placement import EVERYWHERE, WHOLE_ROW
from tidelog.plan.reduction import Strategy

FAILURES = """
.production parallel
.decl link(x: symbol, y: symbol)
.decl fails(x: symbol)
.decl up(x: symbol)
-up(y), +fails(y) :- fails(x), link(x, y), up(y).
"""


def test_the_largest_relations_are_shared_out_and_the_least_is_everywhere() -> None:
    placement = place(checked_program(FAILURES), {"link": 1000, "up": 500, "fails": 3}, 4)
    assert placement.variables == ("y",)
    assert {name: placement.homes(name) for name in placement.ways} == {
        "link": (1,),
        "up": (0,),
        "fails": (EVERYWHERE,),
    }


def test_a_relation_that_two_rules_read_by_different_columns_has_two_copies() -> None:
    text = """
    .production parallel
    .decl p(x: number, y: number)
    .decl q(x: number)
    -q(x) :- p(x, _), q(x).
    +p(y, y) :- p(_, y), q(y).
    """
    placement = place(checked_program(text), {}, 4)
    assert placement.homes("p") == (0, 1)
    assert [(relation, way) for _, relation, way in placement.copies()] == [("p", 0), ("p", 1)]
    assert placement.owners == {"q": 0, "p": 0}


def test_what_ordinary_rules_read_is_everywhere_and_a_rule_without_variables_is_in_one_partition() -> None:
    text = """
    .production parallel
    .decl p(x: number, y: number)
    .decl many(n: number)
    .decl done(x: number, y: number)
    many(n) :- n = count : { p(_, _) }.
    +done(1, 2) :- many(3).
    """
    placement = place(checked_program(text), {}, 4)
    assert placement.variables == (AT_ONE_PLACE,)
    assert placement.homes("p") == (EVERYWHERE,)
    assert placement.homes("done") == (WHOLE_ROW,)
    assert placement.derived == {"many"}


@pytest.mark.parametrize(
    ("fires", "sizes", "partitions", "strategy", "reason"),
    [
        ("set", {}, 8, Strategy.ALONE, "one rule fires in a cycle"),
        ("instance", {}, 8, Strategy.ALONE, "one instance of a rule fires in a cycle"),
        ("parallel", {}, 8, Strategy.SYNCHRONOUS, "goes to other partitions"),
        ("parallel", {}, 1, Strategy.ALONE, "one partition"),
        ("parallel", {"link": 10, "up": 10, "fails": 10}, 8, Strategy.ALONE, "30 rows are not worth"),
        ("parallel", {"link": 10**7, "up": 10, "fails": 10}, 8, Strategy.SYNCHRONOUS, "goes to other partitions"),
    ],
)
def test_a_strategy_has_its_reason(
    fires: str, sizes: dict[str, int], partitions: int, strategy: Strategy, reason: str
) -> None:
    found = choose(checked_program(FAILURES.replace("parallel", fires)), sizes, partitions=partitions)
    assert found.strategy is strategy
    assert reason in found.reason


def test_partitions_run_ahead_where_a_rule_asks_for_facts_that_are_at_home_with_it() -> None:
    served = "\n.decl request(x: symbol)\n-request(x) :- request(x), up(x)."
    found = choose(checked_program(FAILURES + served), {}, partitions=8)
    assert found.strategy is Strategy.ASYNCHRONOUS
    assert found.placement is not None
    assert [found.placement.stays_home(position) for position in range(2)] == [False, True]


def test_what_is_asked_for_is_taken_or_refused() -> None:
    few = {"link": 1, "up": 1, "fails": 1}
    for forced in (Strategy.ALONE, Strategy.SYNCHRONOUS, Strategy.ASYNCHRONOUS):
        assert choose(checked_program(FAILURES), few, forced=forced).strategy is forced
    assert choose(checked_program(FAILURES), few, forced=Strategy.PRESERVED).strategy is Strategy.ALONE
    with pytest.raises(UsageError, match="cannot be run by the strategy synchronous: one rule fires"):
        choose(checked_program(FAILURES.replace("parallel", "set")), few, forced=Strategy.SYNCHRONOUS)
