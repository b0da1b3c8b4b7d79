"""What is made of a program's production rules once, for all runs."""

from __future__ import annotations

import tidelog
from answers import checked_program
from tidelog.facts.chain import ChainRecord
from tidelog.plan.retention.network import Retention
from tidelog.production.prepared import prepared

MOVE = """
.production set
.decl stock(x: number, n: number)
.decl order(x: number, n: number)
.decl sold(x: number, n: number)
+sold(x, n), -stock(x, n) :- order(x, n), stock(x, n). [name sell, priority 1]
-order(x, n) :- sold(x, n), order(x, n). [name close]
"""


def test_plans_are_made_once_for_a_program_and_each_strategy() -> None:
    checked = checked_program(MOVE)
    made = prepared(checked, Retention.COSMA)
    assert prepared(checked, Retention.COSMA) is made
    assert prepared(checked, Retention.RETE) is not made
    assert prepared(checked_program(MOVE), Retention.COSMA) is not made


def test_runs_of_one_program_over_few_facts_and_over_many_do_not_get_in_each_others_way() -> None:
    checked = checked_program(MOVE)
    for size in (1, 500, 3):
        db = tidelog.open(checked)
        db.insert("stock", [(x, x % 7) for x in range(size)])
        db.insert("order", [(x, x % 7) for x in range(0, 2 * size, 2)])
        db.run()
        assert sorted(db["sold"]) == [(x, x % 7) for x in range(0, size, 2)]
        assert sorted(db["order"]) == [(x, x % 7) for x in range(size + size % 2, 2 * size, 2)]


BLINK = """
.production set
.decl tick(n: number)
.decl lit(x: number)
+tick(n + 1), -tick(n), +lit(1) :- tick(n), n < 6, n % 2 = 0. [name light, priority 1]
+tick(n + 1), -tick(n), -lit(1) :- tick(n), n < 6, n % 2 = 1. [name dim]
"""


def test_a_fact_that_comes_again_and_again_has_each_time_in_its_chain() -> None:
    db = tidelog.open(BLINK)
    db.insert("tick", [(0,)])
    db.run()
    times = [ChainRecord(cycle, cycle % 2 == 1, ("light",) if cycle % 2 else ("dim",)) for cycle in range(1, 7)]
    assert db.history("lit", (1,)) == (ChainRecord(0, False), *times)
    assert db.history("tick", (3,)) == (
        ChainRecord(0, False),
        ChainRecord(3, True, ("light",)),
        ChainRecord(4, False, ("dim",)),
    )
