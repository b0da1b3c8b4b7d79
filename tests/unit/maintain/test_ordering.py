"""The order of a rule's joins follows the sizes of relations, and the same order is the same plan."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.store import Store
from tidelog.checking import check_program
from tidelog.language.parser import parse
from tidelog.maintain import ordering as ordering_file
from tidelog.maintain.ordering import Ordering
from tidelog.maintain.protocol import SILENT
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.lower import lower
from tidelog.plan.nodes import RulePlan
from tidelog.plan.optimize import optimize
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.planned import OrdersKept

TEXT = """
.decl one(x: number, y: number)
.decl other(x: number, y: number)
.decl both(x: number, z: number)
both(x, z) :- one(x, y), other(y, z).
"""

RECURSION = """
.decl path(x: number, y: number)
path(x, y) :- one(x, y).
path(x, z) :- path(x, y), one(y, z).
"""


def filled(backend: LocalBackend, relation: str, begin: int, end: int) -> None:
    numbers = np.arange(begin, end)
    backend.insert(relation, pa.table({"x": numbers, "y": numbers}))


def filled_delta(backend: LocalBackend, relation: str, begin: int, end: int) -> None:
    store = backend.statistics()
    assert isinstance(store, Store)
    store.relations[relation].stage(np.repeat(np.arange(begin, end, dtype=np.int32), 2).reshape(-1, 2))
    backend.advance([relation])


def test_a_rule_is_the_same_plan_whenever_its_joins_come_in_the_same_order() -> None:
    plan = optimize(lower(check_program(parse(TEXT))))
    (rule,) = next(stratum.once for stratum in plan.strata if stratum.relations == ("both",))
    backend = LocalBackend({**plan.schemas, **plan.hidden})
    ordering = Ordering(backend, SILENT)
    filled(backend, "one", 0, 10)
    filled(backend, "other", 0, 1_000)
    (first,) = ordering.of((rule,))
    filled(backend, "other", 1_000, 100_000)
    (larger,) = ordering.of((rule,))
    filled(backend, "one", 10, 400_000)
    (turned,) = ordering.of((rule,))
    assert larger is first
    assert turned.node != first.node


def test_rules_that_nobody_else_keeps_are_not_taken_for_one_another() -> None:
    plan = optimize(lower(check_program(parse(TEXT))))
    backend = LocalBackend({**plan.schemas, **plan.hidden})
    ordering = Ordering(backend, SILENT)

    def ordered_once(number: int) -> RulePlan:
        fresh = optimize(lower(check_program(parse(TEXT.replace("both", f"both{number}")))))
        (rule,) = next(stratum.once for stratum in fresh.strata if stratum.relations == (f"both{number}",))
        return ordering.of((rule,))[0]

    assert [ordered_once(number).head for number in range(50)] == [f"both{number}" for number in range(50)]


def test_sessions_share_orders_for_few_rows_and_find_their_own_for_many() -> None:
    plan = optimize(lower(check_program(parse(TEXT))))
    (rule,) = next(stratum.once for stratum in plan.strata if stratum.relations == ("both",))
    kept: OrdersKept = {}

    def ordered(rows: int) -> RulePlan:
        backend = LocalBackend({**plan.schemas, **plan.hidden})
        filled(backend, "one", 0, rows)
        filled(backend, "other", 0, rows // 8)
        return Ordering(backend, SILENT, kept).of((rule,))[0]

    assert ordered(1_000).node is ordered(1_000).node
    assert ordered(100_000).node is not ordered(100_000).node
    assert len(kept) == 1


def test_a_rule_that_starts_from_its_delta_keeps_its_order_while_only_that_shrinks(monkeypatch) -> None:
    plan = optimize(lower(check_program(parse(TEXT + RECURSION))))
    stratum = next(stratum for stratum in plan.strata if stratum.relations == ("path",))
    backend = LocalBackend({**plan.schemas, **plan.hidden})
    ordering = Ordering(backend, SILENT)
    filled(backend, "one", 0, 100_000)
    filled(backend, "path", 0, 100_000)
    looked_for = []
    monkeypatch.setattr(ordering_file, "order_joins", lambda *given: looked_for.append(given) or order_joins(*given))

    def is_ordered_anew(first: int, behind: int) -> bool:
        filled_delta(backend, "path", first, behind)
        looked_for.clear()
        (ordered,) = ordering.of(stratum.rounds)
        assert [scan.relation for scan in joined_scans(ordered.node)] == ["path", "one"]
        return len(looked_for) > 0

    assert is_ordered_anew(100_000, 101_000)
    assert not is_ordered_anew(101_000, 101_100)
    assert not is_ordered_anew(101_100, 101_101)
    assert is_ordered_anew(101_101, 106_101)


def test_rules_are_ordered_again_only_when_a_magnitude_is_another(monkeypatch) -> None:
    plan = optimize(lower(check_program(parse(TEXT))))
    (rule,) = next(stratum.once for stratum in plan.strata if stratum.relations == ("both",))
    backend = LocalBackend({**plan.schemas, **plan.hidden})
    ordering = Ordering(backend, SILENT)
    filled(backend, "one", 0, 100)
    filled(backend, "other", 0, 20_000)
    first = ordering.of((rule,))
    looked_for = []
    monkeypatch.setattr(ordering_file, "order_joins", lambda *given: looked_for.append(given) or order_joins(*given))
    filled(backend, "one", 100, 110)
    assert ordering.of((rule,)) is first
    filled(backend, "one", 110, 100_000)
    (turned,) = ordering.of((rule,))
    assert [scan.relation for scan in joined_scans(turned.node)] == ["other", "one"]
    assert len(looked_for) == 1


def test_the_last_order_of_a_rule_is_the_same_whichever_rules_it_came_with() -> None:
    plan = optimize(lower(check_program(parse(TEXT + RECURSION))))
    (rule,) = next(stratum.rounds for stratum in plan.strata if stratum.relations == ("path",))
    (other,) = next(stratum.once for stratum in plan.strata if stratum.relations == ("both",))
    backend = LocalBackend({**plan.schemas, **plan.hidden})
    ordering, plain = Ordering(backend, SILENT), Ordering(backend, SILENT)
    filled(backend, "one", 0, 100_000)
    filled(backend, "path", 0, 100_000)
    first, behind = 100_000, 101_000
    for size, rules in (
        (1_000, (rule,)),
        (100, (rule, other)),
        (5_000, (rule,)),
        (1_000, (rule, other)),
        (10, (rule,)),
    ):
        first, behind = behind, behind + size
        filled_delta(backend, "path", first, behind)
        assert ordering.of(rules)[0].node == plain.of((rule,))[0].node
