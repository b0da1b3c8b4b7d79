"""`tidelog compile`: the code that is generated for each rule."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from tidelog.analysis.checked import CheckedProgram
from tidelog.cli.plan import Nothing
from tidelog.cli.programs import add_program, read_checked
from tidelog.codegen.operands import NotPushed
from tidelog.codegen.push_rule import push_rule
from tidelog.plan.lower import lower
from tidelog.plan.modules import with_modules
from tidelog.plan.nodes import Plan, RulePlan, Values
from tidelog.plan.optimize import optimize
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.walk import map_rules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)


def run(arguments: argparse.Namespace) -> int:
    print("\n\n".join(sources(read_checked(arguments.program))))
    return 0


def sources(checked: CheckedProgram) -> Iterator[str]:
    """The code of each rule, once for each version of it that reads a delta, or why there is none.

    Joins are ordered as they are when nothing is known about sizes: while a program runs, that may change.
    """
    plan = map_rules(with_modules(optimize(lower(checked))), ordered)
    surroundings = PlanSurroundings(plan)
    found = False
    for stratum in plan.strata:
        if stratum.closed is not None:
            yield f"# {stratum.closed.closure.relation} is a closure: a module computes it, not its rules"
        for rule in (*stratum.once, *stratum.rounds):
            if isinstance(rule.node, Values):
                continue
            found = True
            code = push_rule(rule, surroundings)
            if isinstance(code, NotPushed):
                yield f"# {rule.span.line}: {' '.join(rule.text.split())}\n# runs as batches: {code.reason}"
            else:
                yield code.source.rstrip()
    if not found:
        yield "# no rule derives rows from others"


def ordered(rule: RulePlan) -> RulePlan:
    """`rule` in the order it has when nothing is known about sizes."""
    return replace(rule, node=order_joins(rule.node, Nothing(), rule.order))


class PlanSurroundings:
    """What a generator asks, answered without facts: any key may have many ids."""

    def __init__(self, plan: Plan) -> None:
        self._widths = {name: max(1, schema.arity) for name, schema in {**plan.schemas, **plan.hidden}.items()}
        self._closed = {
            stratum.closed.closure.relation
            for stratum in plan.strata
            if stratum.closed is not None and not stratum.closed.is_written_out
        }

    def width(self, relation: str) -> int:
        return self._widths[relation]

    def is_stored(self, relation: str) -> bool:
        return relation not in self._closed

    def keys(self, relation: str, column: int) -> int:  # noqa: ARG002
        return 1

    def has_long_rows(self, relation: str, key: int) -> bool:  # noqa: ARG002
        return True

    def short_column(self, relation: str) -> int | None:  # noqa: ARG002
        return None
