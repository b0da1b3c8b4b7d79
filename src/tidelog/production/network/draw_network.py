"""The network of production rules as a picture: their influences on each other, and what is retained for each.

Rules are square; what is retained for a rule has a double line, what may be retained for it is dashed. An arrow from
rule to rule has the label of the influence graph on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.analysis.checked import CheckedProgram, ProductionRule
from tidelog.codegen.drawing import Arrow, Box, Legend, folded, picture
from tidelog.codegen.print_graph import attributes, counted
from tidelog.language.printer import print_literal, print_term
from tidelog.language.syntax_tree import Atom, Literal
from tidelog.plan.retention.annotate import Annotation, annotate_program
from tidelog.plan.retention.network import Node, Retention, Way, ways_to_try
from tidelog.plan.retention.print_network import SELECTED, LabelledInfluence, joined, labelled_influences, why_not

LEGEND = Legend(
    boxes=(
        ("rule", "rule"),
        ("fact checked", "retained"),
        ("fact removed", "may be retained"),
        ("label", "influence"),
        ("label removed", "cannot matter: priorities"),
    ),
    arrows=(("back", "closes a cycle"),),
)


@dataclass(frozen=True, slots=True)
class NetworkPicture:
    """Boxes by name, and arrows between them."""

    boxes: Mapping[str, Box]
    arrows: tuple[Arrow, ...]


def draw_network(checked: CheckedProgram, retention: Retention) -> str:
    """The network that a strategy makes of a program, as SVG."""
    shown = network_picture(checked, retention)
    joins = sum("checked" in box.style for box in shown.boxes.values())
    about = f"{counted(len(checked.productions), 'rule')}, {counted(joins, 'relation')} retained by {retention.value}"
    return picture("Network of production rules", about, shown.boxes, shown.arrows, LEGEND)


def dot_network(checked: CheckedProgram, retention: Retention) -> str:
    """The same in the language of Graphviz."""
    shown = network_picture(checked, retention)
    lines = ["digraph network {", '  node [fontname="Helvetica", fontsize=11, shape=box];', '  edge [color="#555555"];']
    for name, box in shown.boxes.items():
        lines.append(f"  {name} [{attributes(dot_box(box))}];")
    for arrow in shown.arrows:
        faded = ' [style=dashed, color="#aaaaaa"]' if "removed" in arrow.style else ""
        lines.append(f"  {arrow.edge[0]} -> {arrow.edge[1]}{faded};")
    return "\n".join([*lines, "}"])


def dot_box(box: Box) -> dict[str, str]:
    shown = {"label": "\n".join(text for text, _ in box.lines), "tooltip": box.title}
    if "removed" in box.style:
        return shown | {"style": "rounded,dashed", "fontcolor": "#888888", "color": "#aaaaaa"}
    if box.style == "label":
        return shown | {"style": "rounded", "color": "#c4ccd4"}
    return shown | ({"style": "rounded", "peripheries": "2"} if "checked" in box.style else {})


def network_picture(checked: CheckedProgram, retention: Retention) -> NetworkPicture:
    """Rules, what is retained for each, and their influences on each other."""
    boxes: dict[str, Box] = {}
    arrows: list[Arrow] = []
    annotations = iter(annotate_program(checked))
    ways = ways_to_try(checked, retention)
    for rule in checked.productions:
        own = [next(annotations) for _ in rule.bodies]
        boxes[box_of(rule)] = rule_box(rule, own if retention is Retention.COSMA else [])
        for number, annotation in enumerate(own):
            for way in ways[rule.id, number]:
                boxes |= {box_of(node): join_box(node, annotation, retention) for node in way.nodes}
                arrows += arrows_between(way, rule)
    arcs: dict[tuple[str, str], list[LabelledInfluence]] = {}
    for one in labelled_influences(checked):
        arcs.setdefault((box_of(one.source), box_of(one.target)), []).append(one)
    for (source, target), some in arcs.items():
        box = influence_box(some)
        style = "removed" if "removed" in box.style else ""
        boxes[f"{source}_{target}"] = box
        arrows += (Arrow(edge, style) for edge in ((source, f"{source}_{target}"), (f"{source}_{target}", target)))
    return NetworkPicture(boxes, tuple(arrows))


def influence_box(some: Sequence[LabelledInfluence]) -> Box:
    """The label of an arc of the influence graph; what priorities take away from it is in brackets."""
    labels = [f"{one.label} {one.target_head}" for one in some]
    lines = [label if one.matters else f"({label})" for one, label in zip(some, labels, strict=True)]
    style = "label" if any(one.matters for one in some) else "label removed"
    title = f"{some[0].source.name} on {some[0].target.name}: {', '.join(lines)}"
    return Box(tuple((line, "note") for line in lines), style, title)


def box_of(shown: ProductionRule | Node) -> str:
    """The name of a box, as DOT has it."""
    if isinstance(shown, ProductionRule):
        return f"r{shown.id}"
    return "j" + shown.relation.replace(".", "_").replace("@", "_")


def rule_box(rule: ProductionRule, annotations: Sequence[Annotation]) -> Box:
    """A rule, and why nothing is retained for it."""
    text = " ".join(rule.text.split())
    lines = [(rule.name, "bold"), *((line, "") for line in folded(text))]
    for annotation in annotations:
        if not annotation.retained:
            lines += [(line, "note") for line in folded(f"retains no join: {why_not(annotation)}")]
    return Box(tuple(lines), "rule", f"{rule.name}: {text}")


def join_box(node: Node, annotation: Annotation, retention: Retention) -> Box:
    """What is retained, or may be, and why."""
    body = ", ".join(short_name(literal) for literal in node.rule.body)
    note, is_retained = why(annotation, retention)
    lines = [(short_name(node.atom), "bold"), *((line, "") for line in folded(body))]
    lines += [(line, "note") for line in folded(note)]
    return Box(tuple(lines), f"fact {'checked' if is_retained else 'removed'}", f"{body}: {note}")


def why(annotation: Annotation, retention: Retention) -> tuple[str, bool]:
    """Why something is retained for an alternative, or (False) when it would be."""
    match retention:
        case Retention.COSMA if annotation.retained:
            filters = joined(occurrence for each in annotation.retained for occurrence in each.filters)
            follows = "follows by itself what changes: " + ", ".join(map(str, annotation.changes))
            return f"{follows}; flag for {filters}" if filters else follows, True
        case Retention.COSMA:
            return "retained if trying the rule costs more without it", False
        case Retention.ATREAT:
            return SELECTED, False
        case Retention.NONE | Retention.RETE | Retention.TREAT:
            return f"{retention.value.upper()} retains it always", True


def arrows_between(way: Way, rule: ProductionRule) -> Iterator[Arrow]:
    """From each node to those that are made of it, and to the rule that reads it."""
    for node in way.nodes:
        readers = [box_of(other) for other in way.nodes if node.atom in other.rule.body]
        readers += [box_of(rule)] if node.atom in way.body else []
        yield from (Arrow((box_of(node), reader), "") for reader in readers)


def short_name(literal: Literal) -> str:
    """A literal; retained relations have long names, of which the end is enough."""
    match literal:
        case Atom(relation, arguments) if "@" in relation:
            kind = relation.split("@")[1]
            name = {"all": "instances"}.get(kind, f"J{kind}" if kind.isdigit() else kind)
            return f"{name}({', '.join(map(print_term, arguments))})"
        case _:
            return print_literal(literal)
