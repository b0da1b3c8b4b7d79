"""`tidelog plan`: strata, rules and joins as they will be computed, as text."""

from __future__ import annotations

import argparse
from dataclasses import replace

from tidelog.analysis.checked import CheckedProgram
from tidelog.cli.programs import add_program, read_checked
from tidelog.cli.rule_codes import Nothing, rule_codes
from tidelog.codegen.operands import NotPushed
from tidelog.maintain.protocol import Silent
from tidelog.pipeline.production.strategy import choose as choose_production
from tidelog.pipeline.production.strategy import print_production
from tidelog.plan.lower import lower
from tidelog.plan.modules import with_modules
from tidelog.plan.nodes import Node, RulePlan, Version
from tidelog.plan.optimize import optimize
from tidelog.plan.passes.order_joins import order_joins
from tidelog.plan.printer import print_plan
from tidelog.plan.reduction import choose, print_reduction
from tidelog.plan.walk import map_rules, scans_of
from tidelog.session import open_session
from tidelog.span import Span


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument(
        "-F", "--facts", metavar="FOLDER", help="run the program on these facts and show the join orders it ended with"
    )
    parser.add_argument(
        "--engine",
        choices=["local", "spark"],
        default="local",
        help="spark: also show how recursive strata and production rules are shared among partitions",
    )


def run(arguments: argparse.Namespace) -> int:
    checked = read_checked(arguments.program)
    orders = orders_on_facts(checked, arguments.facts) if arguments.facts is not None else {}
    print(print_plan(map_rules(optimize(lower(checked)), lambda rule: ordered(rule, orders))))
    batches = print_batches(checked)
    if batches:
        print(f"\n{batches}")
    if arguments.engine == "spark":
        print(f"\n{print_reductions(checked)}")
    return 0


def print_batches(checked: CheckedProgram) -> str:
    """Which rules have no code of their own, and why."""
    reasons = {
        f"  {rule.span.line}: {' '.join(rule.text.split())}  ({code.reason})": None
        for _, codes in rule_codes(checked)
        for rule, code in codes
        if isinstance(code, NotPushed) and not code.needs_none
    }
    return "\n".join(["as batches in every tier", *reasons]) if reasons else ""


def print_reductions(checked: CheckedProgram) -> str:
    """How recursive strata and production rules are shared among partitions when nothing is known about sizes."""
    plan = with_modules(optimize(lower(checked)))
    lines = [
        f"  {', '.join(stratum.relations)}: {print_reduction(choose(stratum, plan, {}))}"
        for stratum in plan.strata
        if stratum.rounds or stratum.closed
    ]
    if checked.productions:
        lines.append(print_production(checked, choose_production(checked, {})))
    return "\n".join(["on Spark, where facts do not fit into the driver", *(lines or ["  no stratum is recursive"])])


RuleVersion = tuple[int, Span | None]


def orders_on_facts(checked: CheckedProgram, facts: str) -> dict[RuleVersion, Node]:
    """The last order that each version of each rule was given while the program ran on `facts`."""
    listener = Listener()
    with open_session(checked, observer=listener) as session:
        session.load_inputs(facts)
        session.materialize()
    return listener.orders


class Listener(Silent):
    """Hears in which order rules were joined."""

    def __init__(self) -> None:
        self.orders: dict[RuleVersion, Node] = {}

    def rule_ordered(self, rule: RulePlan) -> None:
        self.orders[version_of(rule)] = rule.node


def version_of(rule: RulePlan) -> RuleVersion:
    """The rule and the place of the literal whose delta this version reads."""
    return rule.id, next((scan.span for scan in scans_of(rule.node) if scan.version is Version.DELTA), None)


def ordered(rule: RulePlan, orders: dict[RuleVersion, Node]) -> RulePlan:
    """`rule` in the order it had in the run or, without one, in the order that a `.plan` asks for."""
    if version_of(rule) in orders:
        return replace(rule, node=orders[version_of(rule)])
    if rule.order is not None:
        return replace(rule, node=order_joins(rule.node, Nothing(), rule.order))
    return rule
