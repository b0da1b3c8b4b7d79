"""The rule application graph as a picture: takes a graph, returns SVG that needs nothing else to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import PurePath
from textwrap import wrap

from tidelog.codegen.graph_nodes import ApplicationGraph, FactNode, RuleNode
from tidelog.codegen.layout import Layout, Place, lay_out
from tidelog.codegen.print_graph import counted, fact_marks, rule_place, run_time_lines
from tidelog.codegen.useless_nodes import scans_read

LETTER = 7.0
"""The width of a letter of the small text, in pixels: the fonts of the style all have this at 11 pixels."""
LINE = 15.0
PADDING = 9.0
MARGIN = 24.0
LEGEND = 62.0
NARROWEST = 860.0
LONGEST = 46
MOST_LETTERS = 600
ASIDE = 16.0
INDENT = "  "
MOST_LOOKED_UP = 2

STYLE = """
svg { background: #ffffff; font: 11px "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace; fill: #1d2733 }
.fact rect { fill: #e8f1fb; stroke: #3b6ea5; stroke-width: 1.2 }
.rule rect { fill: #fffdf5; stroke: #8a7a4a; stroke-width: 1.2 }
.checked rect.inner { fill: none; stroke: #3b6ea5 }
.removed rect { fill: #f6f6f6; stroke: #aaaaaa; stroke-dasharray: 4 3 }
.removed text { fill: #8b8b8b }
.bold { font-weight: bold }
.note { fill: #5b6673 }
.removed .note { fill: #a0a0a0 }
.warn { fill: #b3261e }
path { fill: none; stroke: #59636e; stroke-width: 1.2 }
path.removed { stroke: #b8b8b8; stroke-dasharray: 4 3 }
path.lookup { stroke: #8a97a5; stroke-dasharray: 1.5 3 }
path.back { stroke: #8250b5 }
marker path { fill: #59636e; stroke: none }
#up path { fill: #8250b5 }
.title { font-size: 13px; font-weight: bold }
""".strip()


@dataclass(frozen=True, slots=True)
class Box:
    """What stands in a box: lines of text, each with the class of its style, and a title for who cannot see it."""

    lines: tuple[tuple[str, str], ...]
    style: str
    title: str

    @property
    def size(self) -> tuple[float, float]:
        longest = max(len(text) * (1.03 if style == "bold" else 1.0) for text, style in self.lines)
        return longest * LETTER + 2 * PADDING, len(self.lines) * LINE + 2 * PADDING - 4


def draw_graph(graph: ApplicationGraph) -> str:
    """`graph` as SVG: facts rounded, rules square, duplicate checks with a double line, what is removed dashed."""
    boxes = {f"f{node.number}": fact_box(node, graph) for node in graph.facts}
    boxes |= {f"r{node.number}": rule_box(node) for node in graph.rules}
    arrows = [*arrows_of(graph)]
    layout = lay_out({name: box.size for name, box in boxes.items()}, [arrow.edge for arrow in arrows])
    width, height = max(layout.width + 2 * MARGIN, NARROWEST), layout.height + 2 * MARGIN + LEGEND
    about = f"{counted(len(graph.facts), 'symbolic fact')} and {counted(len(graph.rules), 'rule application')}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="title">',
            f'<title id="title">Rule application graph: {about}</title>',
            f"<style>{STYLE}</style>",
            f"<defs>{marker('down')}{marker('up')}</defs>",
            *legend(about),
            f'<g transform="translate({MARGIN:.0f} {MARGIN + LEGEND:.0f})">',
            *arrow_lines(arrows, layout),
            *(line for name, box in boxes.items() for line in box_lines(box, layout.places[name])),
            "</g>",
            "</svg>",
        ]
    )


def marker(name: str) -> str:
    """The head of an arrow."""
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0.6 L8 4 L0 7.4 z"/></marker>'
    )


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge and the class of its style."""

    edge: tuple[str, str]
    style: str


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


def folded(text: str) -> list[str]:
    """`text` in lines that fit into a box, broken behind literals where possible; one far too long is cut short."""
    short = text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"
    lines = [""]
    for piece in pieces(short):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > LONGEST:
            lines.append(INDENT)
        lines[-1] += piece
    return [line for long in lines for line in wrap(long, LONGEST, subsequent_indent=INDENT, break_on_hyphens=False)]


def pieces(text: str) -> Iterator[str]:
    """`text` cut behind each ', ' that stands in no brackets: behind the literals of a rule."""
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth <= 0 and text[at - 1 : at + 1] == ", ":
            yield text[start : at + 1]
            start = at + 1
    yield text[start:]


def box_lines(box: Box, place: Place) -> Iterator[str]:
    """The SVG of a box."""
    left, top = place.x - place.width / 2, place.y - place.height / 2
    radius = 10 if box.style.startswith("fact") else 1
    yield f'<g class="{box.style}"><title>{escape(box.title)}</title>'
    yield (f'<rect x="{left:.1f}" y="{top:.1f}" width="{place.width:.1f}" height="{place.height:.1f}" rx="{radius}"/>')
    if "checked" in box.style:
        yield (
            f'<rect class="inner" x="{left + 3:.1f}" y="{top + 3:.1f}" width="{place.width - 6:.1f}" '
            f'height="{place.height - 6:.1f}" rx="{radius - 3}"/>'
        )
    for number, (text, style) in enumerate(box.lines):
        y = top + PADDING + 9 + number * LINE
        kind = f' class="{style}"' if style else ""
        yield f'<text{kind} x="{left + PADDING:.1f}" y="{y:.1f}" xml:space="preserve">{escape(text)}</text>'
    yield "</g>"


def arrow_lines(arrows: Sequence[Arrow], layout: Layout) -> Iterator[str]:
    """The SVG of the arrows; those that lead up close a cycle."""
    for arrow in arrows:
        source, target = (layout.places[name] for name in arrow.edge)
        up = arrow.edge in layout.back
        aside = ASIDE if up and arrow.edge[::-1] in layout.bends else 0.0
        path = curve(source, target, layout.bends[arrow.edge], -1.0 if up else 1.0, aside)
        style = " ".join(filter(None, (arrow.style, "back" if up else "")))
        kind = f' class="{style}"' if style else ""
        yield f'<path{kind} d="{path}" marker-end="url(#{"up" if up else "down"})"/>'


def curve(source: Place, target: Place, bends: Sequence[tuple[float, float]], way: float, aside: float) -> str:
    """A curve from one box through the bends to another, down where `way` is 1 and up where it is -1."""
    start = (towards(source, (bends[0] if bends else (target.x, 0.0))[0]), source.y + way * source.height / 2)
    end = (towards(target, (bends[-1] if bends else (source.x, 0.0))[0]), target.y - way * target.height / 2)
    points = [(x + aside, y) for x, y in (start, *bends, end)]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (y1 + y2) / 2
        path += f" C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"
    return path


def towards(place: Place, x: float) -> float:
    """Where on its side a box is met: near `x`, but not at a corner."""
    reach = place.width * 0.3
    return min(max(x, place.x - reach), place.x + reach)


def legend(about: str) -> Iterator[str]:
    """What the boxes and arrows mean."""
    yield f'<text class="title" x="{MARGIN:.0f}" y="28">{escape(about)}</text>'
    entries = [
        ("fact", "symbolic fact"),
        ("fact checked", "with duplicate check"),
        ("rule", "rule application"),
        ("fact removed", "removed"),
    ]
    x = MARGIN
    for style, text in entries:
        yield f'<g class="{style}"><rect x="{x:.0f}" y="42" width="22" height="14" rx="{1 if style == "rule" else 6}"/>'
        if "checked" in style:
            yield f'<rect class="inner" x="{x + 3:.0f}" y="45" width="16" height="8" rx="3"/>'
        yield f'<text x="{x + 28:.0f}" y="53">{text}</text></g>'
        x += 28 + len(text) * LETTER + 22
    for style, text in (("lookup", "looks up"), ("back", "recursion")):
        yield f'<path class="{style}" d="M{x:.0f} 49 h22"/><text x="{x + 28:.0f}" y="53">{text}</text>'
        x += 28 + len(text) * LETTER + 22
