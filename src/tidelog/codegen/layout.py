"""Boxes and arrows laid out in layers, top to bottom (Sugiyama, Tagawa, Toda 1981): takes sizes, returns places.

Edges that close a cycle are turned around, layers are longest paths, an edge over several layers gets a place in each
(a bend), and each layer is ordered by the mean place of its neighbours. Parts of the graph that are not connected are
laid out on their own and put side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

GAP_ACROSS = 24.0
GAP_DOWN = 44.0
BEND = 4.0
SWEEPS = 12
WIDEST = 1500.0
MOST_IN_LAYER = 6

Edge: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """The middle of a box, and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """`places` of the boxes, the `bends` of each edge from its source to its target, and the size of it all.

    `back` are the edges that lead up.
    """

    places: Mapping[str, Place]
    bends: Mapping[Edge, tuple[tuple[float, float], ...]]
    back: frozenset[Edge]
    width: float
    height: float


def lay_out(sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge]) -> Layout:
    """A place for each box of `sizes` (width, height); edges lead down, but for one in each cycle."""
    parts = [lay_out_part(part, edges) for part in connected(sizes, edges)]
    widest = max([WIDEST, *(part.width for part in parts)])
    places: dict[str, Place] = {}
    bends: dict[Edge, tuple[tuple[float, float], ...]] = {}
    left = top = shelf = right = 0.0
    for part in parts:
        if left and left + part.width > widest:
            left, top, shelf = 0.0, top + shelf + GAP_DOWN, 0.0
        places |= {name: Place(at.x + left, at.y + top, at.width, at.height) for name, at in part.places.items()}
        bends |= {edge: tuple((x + left, y + top) for x, y in found) for edge, found in part.bends.items()}
        left, shelf = left + part.width + 2 * GAP_ACROSS, max(shelf, part.height)
        right = max(right, left - 2 * GAP_ACROSS)
    return Layout(places, bends, frozenset().union(*(part.back for part in parts)), right, top + shelf)


def connected(
    sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge]
) -> Iterator[dict[str, tuple[float, float]]]:
    """The boxes of each connected part."""
    near: dict[str, list[str]] = {name: [] for name in sizes}
    for source, target in edges:
        near[source].append(target)
        near[target].append(source)
    seen: set[str] = set()
    for start in sizes:
        if start not in seen:
            members = [start]
            seen.add(start)
            for name in members:  # grows while it is read
                fresh = [other for other in dict.fromkeys(near[name]) if other not in seen]
                seen.update(fresh)
                members += fresh
            yield {name: sizes[name] for name in sizes if name in set(members)}


def lay_out_part(sizes: Mapping[str, tuple[float, float]], edges: Sequence[Edge]) -> Layout:
    """A place for each box of a connected part."""
    wanted = [edge for edge in dict.fromkeys(edges) if edge[0] in sizes and edge[0] != edge[1]]
    back = frozenset(backward(sizes, wanted))
    turned = {edge: (edge[1], edge[0]) if edge in back else edge for edge in wanted}
    forward = [*dict.fromkeys(turned.values())]
    grid = Grid(dict(sizes), balanced(levels_of(sizes, forward), forward))
    chains = {edge: grid.chain(edge) for edge in forward}
    links = [link for chain in chains.values() for link in pairwise(chain)]
    order(grid, links)
    passed = {edge: chains[used] if used == edge else chains[used][::-1] for edge, used in turned.items()}
    return finished(grid, links, passed, back, sizes)


def balanced(levels: Mapping[str, int], edges: Sequence[Edge]) -> dict[str, int]:
    """`levels` with crowded layers relieved: nodes with no edge from above move up, those with none down move down."""
    moved = dict(levels)
    first, last = {target for _, target in edges}, {source for source, _ in edges}
    for movable, step in (([n for n in levels if n not in first], -1), ([n for n in levels if n not in last], 1)):
        rows: dict[int, list[str]] = {}
        for node in movable:
            rows.setdefault(moved[node], []).append(node)
        for nodes in rows.values():
            for number, node in enumerate(nodes):
                moved[node] += step * (number // MOST_IN_LAYER)
    top = min(moved.values(), default=0)
    return {node: level - top for node, level in moved.items()}


def backward(nodes: Mapping[str, object], edges: Sequence[Edge]) -> list[Edge]:
    """The edges that a search in depth, from nodes that nothing leads to, finds to lead back to where it came from."""
    following: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        following[source].append(target)
    reached = {target for _, target in edges}
    open_nodes: set[str] = set()
    done: set[str] = set()
    found: list[Edge] = []
    for start in sorted(nodes, key=lambda node: node in reached):
        work = [] if start in done else [(start, iter(following[start]))]
        open_nodes.update(node for node, _ in work)
        while work:
            node, rest = work[-1]
            after = next(rest, None)
            if after is None:
                work.pop()
                open_nodes.discard(node)
                done.add(node)
            elif after in open_nodes:
                found.append((node, after))
            elif after not in done:
                open_nodes.add(after)
                work.append((after, iter(following[after])))
    return found


def levels_of(nodes: Mapping[str, object], edges: Sequence[Edge]) -> dict[str, int]:
    """The length of the longest path to each node; one that nothing leads to stands right above what it leads to."""
    before: dict[str, list[str]] = {node: [] for node in nodes}
    following: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        before[target].append(source)
        following[source].append(target)
    missing = {node: len(sources) for node, sources in before.items()}
    ready = [node for node, count in missing.items() if count == 0]
    levels: dict[str, int] = {}
    for node in ready:  # grows while it is read
        levels[node] = max((levels[source] + 1 for source in before[node]), default=0)
        for target in following[node]:
            missing[target] -= 1
            if missing[target] == 0:
                ready.append(target)
    for node in nodes:
        if not before[node] and following[node]:
            levels[node] = min(levels[target] for target in following[node]) - 1
    return levels


@dataclass(slots=True)
class Grid:
    """Boxes and bends in layers, each layer in its order from left to right."""

    sizes: dict[str, tuple[float, float]]
    levels: dict[str, int]
    layers: list[list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.layers = [[] for _ in range(max(self.levels.values(), default=-1) + 1)]
        for node, level in self.levels.items():
            self.layers[level].append(node)

    def chain(self, edge: Edge) -> list[str]:
        """The names that an edge passes: its source, a new bend in each layer between, its target."""
        source, target = edge
        bends = []
        for level in range(self.levels[source] + 1, self.levels[target]):
            name = f"{source} > {target} @ {level}"
            self.sizes[name], self.levels[name] = (BEND, 0.0), level
            self.layers[level].append(name)
            bends.append(name)
        return [source, *bends, target]


def order(grid: Grid, links: Sequence[Edge]) -> None:
    """Orders the layers so that few links cross: each by the mean position of its neighbours, down and up in turn."""
    above, below = neighbours(links)
    best, fewest = [list(layer) for layer in grid.layers], crossings(grid.layers, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in grid.layers if down else reversed(grid.layers):
            position = {node: number for each in grid.layers for number, node in enumerate(each)}
            near = above if down else below
            layer.sort(key=lambda node: mean([position[other] for other in near.get(node, ())], position[node]))
        found = crossings(grid.layers, below)
        if found < fewest:
            best, fewest = [list(layer) for layer in grid.layers], found
    grid.layers = best


def neighbours(links: Sequence[Edge]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """For each node, those linked to it from above and from below."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for source, target in links:
        above.setdefault(target, []).append(source)
        below.setdefault(source, []).append(target)
    return above, below


def mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def crossings(layers: Sequence[Sequence[str]], below: Mapping[str, Sequence[str]]) -> int:
    """How many pairs of links cross."""
    count = 0
    for upper, lower in pairwise(layers):
        position = {node: number for number, node in enumerate(lower)}
        ends = [sorted(position[target] for target in below.get(node, ()) if target in position) for node in upper]
        seen: list[int] = []
        for targets in ends:
            count += sum(1 for target in targets for other in seen if other > target)
            seen += targets
    return count


def finished(
    grid: Grid,
    links: Sequence[Edge],
    chains: Mapping[Edge, Sequence[str]],
    back: frozenset[Edge],
    boxes: Mapping[str, object],
) -> Layout:
    """Coordinates: each layer as high as its highest box, each node near the middle of its neighbours.

    An edge passes a layer straight, from its upper to its lower end, so that it does not touch the boxes beside it.
    """
    across = straightened(grid, links)
    ends: dict[str, tuple[float, float]] = {}
    top = 0.0
    for layer in grid.layers:
        height = max((grid.sizes[node][1] for node in layer), default=0.0)
        ends |= dict.fromkeys(layer, (top, top + height))
        top += height + GAP_DOWN
    places = {node: Place(across[node], sum(ends[node]) / 2, *grid.sizes[node]) for node in boxes}
    bends = {
        edge: tuple(
            (across[node], y) for node in chain[1:-1] for y in (ends[node][::-1] if edge in back else ends[node])
        )
        for edge, chain in chains.items()
    }
    right = max([across[node] + grid.sizes[node][0] / 2 for node in across], default=0.0)
    return Layout(places, bends, back, right, max(0.0, top - GAP_DOWN))


def straightened(grid: Grid, links: Sequence[Edge]) -> dict[str, float]:
    """How far to the right the middle of each node is; the order of the layers stays."""
    above, below = neighbours(links)
    across: dict[str, float] = {}
    for layer in grid.layers:
        at = 0.0
        for node in layer:
            across[node] = at + grid.sizes[node][0] / 2
            at += grid.sizes[node][0] + GAP_ACROSS
    for sweep in range(SWEEPS):
        near = above if sweep % 2 == 0 else below
        for layer in grid.layers if sweep % 2 == 0 else reversed(grid.layers):
            wished = [mean([across[other] for other in near.get(node, ())], across[node]) for node in layer]
            across |= spread(layer, wished, grid.sizes)
    left = min((across[node] - grid.sizes[node][0] / 2 for node in across), default=0.0)
    return {node: value - left for node, value in across.items()}


def spread(layer: Sequence[str], wished: Sequence[float], sizes: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Places near the wished ones that keep the order and the gaps: the mean of pushing from the left and the right."""
    gaps = [(sizes[one][0] + sizes[other][0]) / 2 + GAP_ACROSS for one, other in pairwise(layer)]
    from_left = list(wished)
    for number, gap in enumerate(gaps, start=1):
        from_left[number] = max(from_left[number], from_left[number - 1] + gap)
    from_right = list(wished)
    for number in range(len(gaps) - 1, -1, -1):
        from_right[number] = min(from_right[number], from_right[number + 1] - gaps[number])
    return {node: (one + other) / 2 for node, one, other in zip(layer, from_left, from_right, strict=True)}
