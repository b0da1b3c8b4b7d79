"""What a closure may lose with its edges, as rules: all that is closed through one of them.

Some of it is closed without them too. But what closes it may have followed from it, so that all is taken away at first:
the overdeletion of the modules Del[tc] and Del[stc] (Hu, Motik and Horrocks 2019, algorithms 5 and 8).
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.analysis.checked import ClosureKind
from tidelog.language.syntax_tree import Variable
from tidelog.plan.nodes import ClosedRelation, Join, Node, Project, RulePlan, Scan, Version
from tidelog.schema import Schema

START, END, FROM, TO = "~start", "~end", "~from", "~to"


def closed_through(module: ClosedRelation, schema: Schema) -> tuple[RulePlan, ...]:
    """Rules for the facts that are closed through MARKED edges, all of which are still stored."""
    closure = module.closure

    def scan(relation: str, source: str, target: str, version: Version = Version.FULL) -> Scan:
        columns = [f"~group{column}" for column in range(schema.arity)]
        columns[closure.source], columns[closure.target] = source, target
        return Scan(relation, tuple(columns), version)

    def rule(source: str, target: str, *others: Scan) -> RulePlan:
        edge = scan(module.edges, FROM, TO, Version.MARKED)
        body: Node = edge
        for other in others:
            body = Join(body, other)
        head = scan(closure.relation, source, target)
        node = Project(body, tuple(Variable(str(column)) for column in head.columns))
        kinds = {f"~group{column}": kind for column, kind in enumerate(schema.kinds)}
        kinds |= dict.fromkeys((START, END, FROM, TO), schema.kinds[closure.source])
        assert module.taking is not None
        return replace(module.taking, node=node, kinds=kinds)

    before = scan(closure.relation, START, FROM)
    behind = scan(closure.relation, TO, END)
    if closure.kind is ClosureKind.SYMMETRIC:
        # Both ends of an edge are alike, and so is every node with itself.
        return (rule(START, END, before, scan(closure.relation, FROM, END)),)
    return (
        rule(FROM, TO),
        rule(START, TO, before),
        rule(FROM, END, behind),
        rule(START, END, before, behind),
    )
