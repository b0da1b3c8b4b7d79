"""The rule application graph as text: for each symbolic fact the rules it goes to. And as DOT, for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.codegen.graph_nodes import ApplicationGraph, FactNode, GraphRule, RuleNode
from tidelog.codegen.useless_nodes import scans_read
from tidelog.language.printer import print_term
from tidelog.plan.nodes import Scan
from tidelog.plan.printer import column_text, wrapped


def print_graph(graph: ApplicationGraph) -> str:
    """The text of `graph`: where it starts, a block for each symbolic fact, and what is stored and why."""
    starts = [node for node in graph.rules if node.fact is None]
    begin = [line for node in starts for line in rule_lines(node, graph)]
    blocks = [["start", *(begin or ["  no rule applies to what is given"])]]
    blocks += ([*fact_lines(node, graph)] for node in graph.facts)
    if graph.idle:
        blocks.append(["rules that apply to nothing", *(line for rule in graph.idle for line in idle_lines(rule))])
    blocks.append([*summary_lines(graph)])
    return "\n\n".join("\n".join(block) for block in blocks)


def fact_lines(node: FactNode, graph: ApplicationGraph) -> Iterator[str]:
    """The block of a fact node."""
    yield from wrapped(", ".join([str(node.fact), *fact_marks(node, graph)]), 0)
    if node.removed:
        yield from wrapped(f"REMOVED: {node.removed}", 2)
    if node.generalised:
        yield from wrapped(f"generalised: {node.generalised}", 2)
    for number in node.taken_by:
        yield from rule_lines(graph.rules[number], graph)


def fact_marks(node: FactNode, graph: ApplicationGraph) -> Iterator[str]:
    """What is said about a fact node in a few words."""
    relation = node.fact.relation
    if not node.removed:
        if relation in graph.stored:
            yield "stored"
        elif relation not in graph.checks:
            yield "pushed, never stored"
        if relation in graph.checks:
            yield "duplicate check"
        if any(node.number in cycle.facts for cycle in graph.cycles):
            yield "in a cycle"


def rule_lines(node: RuleNode, graph: ApplicationGraph) -> Iterator[str]:
    """The lines about a rule node."""
    yield from wrapped(f"[{node.number + 1}] {rule_text(node.rule)}", 2)
    for line in [*run_time_lines(node), f"gives {graph.facts[node.result].fact}"]:
        yield from wrapped(line, 6)
    if node.removed:
        yield from wrapped(f"REMOVED: {node.removed}", 6)
    if node.reports:
        yield from wrapped("kept: nothing wanted follows, but an expression without a value must be reported", 6)


def run_time_lines(node: RuleNode) -> Iterator[str]:
    """What is left to do at run time, a line for each sort of work."""
    if node.taken is not None and node.taken.relation in {scan.relation for scan in scans_read(node)}:
        yield f"takes {literal_text(node.taken)}"
    if node.checks:
        yield f"only where {', '.join(map(str, node.checks))}"
    if node.conflict:
        clash = ", ".join(sorted(map(str, node.conflict)))
        # What stands in its own place already is a copy for the code, and nothing to read about.
        copies = ", ".join(f"{copy.target} := {copy.source}" for copy in node.copies if copy.target != copy.source)
        yield f"CONFLICT on {clash}: {f'first {copies}' if copies else 'but it reads none of them'}"
    read = [literal_text(scan) for scan in scans_read(node)]
    if read:
        yield f"{'looks up' if node.fact is not None else 'reads'} {', '.join(read)}"
    computed = [f"{each.target} := {print_term(each.term)}" for each in node.assignments]
    if computed:
        yield f"sets {', '.join(computed)}"


def rule_text(rule: GraphRule) -> str:
    """`rule 2, reach.dl:5: path(x, z) :- path(x, y), edge(y, z).`"""
    text = " ".join(rule.plan.text.split())
    return f"{rule_place(rule)}: {text}" if rule_place(rule) else text


def rule_place(rule: GraphRule) -> str:
    """`rule 2, reach.dl:5`; nothing for what stands in no text."""
    plan = rule.plan
    if plan.span.line == 0:
        return ""
    place = f"{plan.span.file}:{plan.span.line}"
    return place if plan.id < 0 else f"rule {rule.label}, {place}"


def literal_text(scan: Scan) -> str:
    """A literal as it would stand in a rule."""
    return f"{scan.relation}({', '.join(map(column_text, scan.columns))})"


def idle_lines(rule: GraphRule) -> Iterator[str]:
    yield from wrapped(rule_text(rule), 2)


def summary_lines(graph: ApplicationGraph) -> Iterator[str]:
    """What is stored or checked and why, and the size of the graph."""
    for check in graph.checks.values():
        how = "stored" if check.relation in graph.stored else "duplicate check"
        yield from wrapped(f"{check.relation}, {how}: {'; '.join(check.reasons)}", 0)
    facts = sum(not node.removed for node in graph.facts)
    rules = sum(not node.removed for node in graph.rules)
    removed = len(graph.facts) + len(graph.rules) - facts - rules
    counts = [
        counted(facts, "symbolic fact"),
        counted(rules, "rule application"),
        counted(len(graph.cycles), "cycle"),
        f"{counted(removed, 'node')} removed",
        counted(len(graph.phases), "phase"),
    ]
    yield ", ".join(counts)


def counted(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def print_dot(graph: ApplicationGraph) -> str:
    """`graph` in the language of Graphviz."""
    lines = ["digraph rules {", '  node [fontname="Helvetica", fontsize=11];', '  edge [color="#555555"];']
    lines += (f"  f{node.number} [{attributes(dot_fact(node, graph))}];" for node in graph.facts)
    lines += (f"  r{node.number} [{attributes(dot_rule(node))}];" for node in graph.rules)
    for node in graph.rules:
        faded = ' [style=dashed, color="#aaaaaa"]' if node.removed else ""
        if node.fact is not None:
            lines.append(f"  f{node.fact} -> r{node.number}{faded};")
        lines.append(f"  r{node.number} -> f{node.result}{faded};")
    return "\n".join([*lines, "}"])


def dot_fact(node: FactNode, graph: ApplicationGraph) -> dict[str, str]:
    shown = {"label": "\n".join([str(node.fact), *fact_marks(node, graph)]), "shape": "box", "style": "rounded"}
    if node.removed:
        return shown | {"style": "rounded,dashed", "fontcolor": "#888888", "color": "#aaaaaa", "tooltip": node.removed}
    return shown | ({"peripheries": "2"} if node.fact.relation in graph.checks else {})


def dot_rule(node: RuleNode) -> dict[str, str]:
    marks = ["conflict"] if node.conflict else []
    shown = {"label": "\n".join([rule_text(node.rule), *map(str, node.checks), *marks]), "shape": "box"}
    if node.removed:
        return shown | {"style": "dashed", "fontcolor": "#888888", "color": "#aaaaaa", "tooltip": node.removed}
    return shown


def attributes(values: dict[str, str]) -> str:
    """`name="value", …`, with what has a meaning in DOT escaped."""
    return ", ".join(f"{name}={quoted(value)}" for name, value in values.items())


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
