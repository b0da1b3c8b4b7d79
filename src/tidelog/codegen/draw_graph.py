"""The rule application graph as a picture: takes a graph, returns SVG that needs nothing else to be shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from tidelog.codegen.drawing import Arrow, Box, Legend, folded, picture
from tidelog.codegen.graph_nodes import ApplicationGraph, FactNode, RuleNode
from tidelog.codegen.print_graph import counted, fact_marks, rule_place, run_time_lines
from tidelog.codegen.useless_nodes import scans_read

MOST_LOOKED_UP = 2

LEGEND = Legend(
    boxes=(
        ("fact", "symbolic fact"),
        ("fact checked", "with duplicate check"),
        ("rule", "rule application"),
        ("fact removed", "removed"),
    ),
    arrows=(("lookup", "looks up"), ("back", "recursion")),
)


def draw_graph(graph: ApplicationGraph) -> str:
    """`graph` as SVG: facts rounded, rules square, duplicate checks with a double line, what is removed dashed."""
    boxes = {f"f{node.number}": fact_box(node, graph) for node in graph.facts}
    boxes |= {f"r{node.number}": rule_box(node) for node in graph.rules}
    about = f"{counted(len(graph.facts), 'symbolic fact')} and {counted(len(graph.rules), 'rule application')}"
    return picture("Rule application graph", about, boxes, [*arrows_of(graph)], LEGEND)


def arrows_of(graph: ApplicationGraph) -> Iterator[Arrow]:
    """Edges of the graph, and dotted ones from derived relations to the rules that look their rows up.

    Where such a relation has many symbolic facts, the dotted ones would hide everything else and are left out.
    """
    derived: dict[str, list[FactNode]] = {}
    for fact in graph.facts:
        derived.setdefault(fact.fact.relation, []).append(fact)
    for node in graph.rules:
        style = "removed" if node.removed else ""
        own = {node.fact, node.result}
        if node.fact is not None:
            yield Arrow((f"f{node.fact}", f"r{node.number}"), style)
        yield Arrow((f"r{node.number}", f"f{node.result}"), style)
        read = [derived.get(relation, []) for relation in dict.fromkeys(scan.relation for scan in scans_read(node))]
        for fact in (fact for found in read if len(found) <= MOST_LOOKED_UP for fact in found):
            if fact.number not in own:
                yield Arrow((f"f{fact.number}", f"r{node.number}"), "removed" if node.removed else "lookup")


def fact_box(node: FactNode, graph: ApplicationGraph) -> Box:
    """The box of a fact node."""
    relation = node.fact.relation
    lines = [(text, "bold") for text in folded(str(node.fact))]
    lines += [(", ".join(fact_marks(node, graph)), "note")] if not node.removed else []
    lines += [(text, "warn") for text in folded(f"generalised: {node.generalised}")] if node.generalised else []
    lines += [(text, "note") for text in folded(f"removed: {node.removed}")] if node.removed else []
    checked = not node.removed and relation in graph.checks
    reasons = "; ".join(graph.checks[relation].reasons) if checked else ""
    title = ". ".join(part for part in (f"fact {node.fact}", node.removed, reasons) if part)
    return Box(tuple(lines), f"fact{' checked' if checked else ''}{' removed' if node.removed else ''}", title)


def rule_box(node: RuleNode) -> Box:
    """The box of a rule node: its place and text, what rows must decide, what it looks up. The title has the rest."""
    place, text = rule_place(node.rule), " ".join(node.rule.plan.text.split())
    file = PurePath(node.rule.plan.span.file).name
    lines = [(place.replace(node.rule.plan.span.file, file), "note")] if place else []
    lines += [(line, "") for line in folded(text)]
    for line in run_time_lines(node):
        if line.startswith(("takes", "only where")):
            lines += [(part, "note") for part in folded(line)]
    if node.conflict:
        lines.append(("conflict: values are copied first", "warn"))
    if node.removed:
        lines.append(("removed", "note"))
    if node.reports:
        lines.append(("kept for the error that it may report", "note"))
    title = ". ".join(filter(None, (f"{place} {text}".strip(), *run_time_lines(node), node.removed)))
    return Box(tuple(lines), f"rule{' removed' if node.removed else ''}", title)
