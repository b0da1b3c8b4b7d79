"""Takes a plan, returns a plan that does less: the passes that need no statistics.

Joins are ordered later, by `passes.order_joins`, while the program runs and the sizes of relations are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tidelog.plan.nodes import Plan
from tidelog.plan.passes.fold_constants import fold_constants
from tidelog.plan.passes.merge_equals import merge_equals
from tidelog.plan.passes.prune_columns import prune_columns
from tidelog.plan.passes.push_filters import push_filters

Pass: TypeAlias = Callable[[Plan], Plan]

PASSES: tuple[Pass, ...] = (fold_constants, merge_equals, push_filters, prune_columns)


def optimize(plan: Plan, passes: tuple[Pass, ...] = PASSES) -> Plan:
    """`plan`, rewritten by each pass in turn; the answer never changes."""
    for rewrite in passes:
        plan = rewrite(plan)
    return plan
