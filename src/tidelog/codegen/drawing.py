"""Boxes and arrows as a picture: takes what stands in the boxes, returns SVG that needs nothing else to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import wrap

from tidelog.codegen.layout import Layout, Place, lay_out

LETTER = 7.0
"""The width of a letter of the small text, in pixels: the fonts of the style all have this at 11 pixels."""
LINE = 15.0
PADDING = 9.0
MARGIN = 24.0
ABOVE = 62.0
NARROWEST = 860.0
LONGEST = 46
MOST_LETTERS = 600
ASIDE = 16.0
INDENT = "  "

STYLE = """
svg { background: #ffffff; font: 11px "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace; fill: #1d2733 }
.fact rect { fill: #e8f1fb; stroke: #3b6ea5; stroke-width: 1.2 }
.rule rect { fill: #fffdf5; stroke: #8a7a4a; stroke-width: 1.2 }
.checked rect.inner { fill: none; stroke: #3b6ea5 }
.label rect { fill: #f4f6f8; stroke: #c4ccd4 }
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


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge and the class of its style."""

    edge: tuple[str, str]
    style: str


@dataclass(frozen=True, slots=True)
class Legend:
    """The styles of boxes and of arrows that are explained, each with what it stands for."""

    boxes: tuple[tuple[str, str], ...]
    arrows: tuple[tuple[str, str], ...]


def picture(title: str, about: str, boxes: Mapping[str, Box], arrows: Sequence[Arrow], legend: Legend) -> str:
    """SVG of `boxes` by name and the arrows between them, laid out from top to bottom, below a legend."""
    layout = lay_out({name: box.size for name, box in boxes.items()}, [arrow.edge for arrow in arrows])
    width, height = max(layout.width + 2 * MARGIN, NARROWEST), layout.height + 2 * MARGIN + ABOVE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-labelledby="title">',
            f'<title id="title">{escape(title)}: {escape(about)}</title>',
            f"<style>{STYLE}</style>",
            f"<defs>{marker('down')}{marker('up')}</defs>",
            *legend_lines(about, legend),
            f'<g transform="translate({MARGIN:.0f} {MARGIN + ABOVE:.0f})">',
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


def legend_lines(about: str, legend: Legend) -> Iterator[str]:
    """What the boxes and arrows mean."""
    yield f'<text class="title" x="{MARGIN:.0f}" y="28">{escape(about)}</text>'
    x = MARGIN
    for style, text in legend.boxes:
        yield f'<g class="{style}"><rect x="{x:.0f}" y="42" width="22" height="14" rx="{1 if style == "rule" else 6}"/>'
        if "checked" in style:
            yield f'<rect class="inner" x="{x + 3:.0f}" y="45" width="16" height="8" rx="3"/>'
        yield f'<text x="{x + 28:.0f}" y="53">{text}</text></g>'
        x += 28 + len(text) * LETTER + 22
    for style, text in legend.arrows:
        yield f'<path class="{style}" d="M{x:.0f} 49 h22"/><text x="{x + 28:.0f}" y="53">{text}</text>'
        x += 28 + len(text) * LETTER + 22


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
