"""Tests and computed values stand as low as their names allow."""

from __future__ import annotations

from dataclasses import replace

from tidelog.plan.nodes import Node, Plan, Project
from tidelog.plan.spine import assemble, flatten, with_inner
from tidelog.plan.walk import map_rules


def push_filters(plan: Plan) -> Plan:
    """`plan` with every filter right above the scan or join that binds its last name; joins keep their order.

    An equality with a name of a later scan gives that name its value before the join, so that the join can use it.
    """
    return map_rules(plan, lambda rule: replace(rule, node=push_node(rule.node)))


def push_node(node: Node) -> Node:
    """`node` with its filters pushed, those inside aggregates and distinct values too."""
    if isinstance(node, Project):
        return replace(node, input=push_node(node.input))
    spine = with_inner(flatten(node), push_node)
    return assemble(spine.sources, spine.others)
