"""The problems that rule engines are compared on, from fixed seeds, with checks of the answers that use no engine.

Needs nothing but Python: it is read in the processes of other engines too.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

Row: TypeAlias = tuple[int | str, ...]
Facts: TypeAlias = dict[str, list[Row]]
Form: TypeAlias = tuple[str, int, tuple[str, ...]]

DIRECTIONS = {(1, 0): 0, (1, 1): 1, (0, 1): 2, (-1, 1): 3, (-1, 0): 4, (-1, -1): 5, (0, -1): 6, (1, -1): 7}
"""Eight directions, counted counter-clockwise from the right."""

OPPOSITE = {"+": "+", "-": "-", "in": "out", "out": "in"}
"""What a line is called at its other end."""

SAID: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "L": (("in", "out"), ("out", "in"), ("+", "out"), ("in", "+"), ("-", "in"), ("out", "-")),
    "arrow": (("in", "+", "out"), ("+", "-", "+"), ("-", "+", "-")),
    "fork": (("+", "+", "+"), ("-", "-", "-"), ("out", "in", "-"), ("-", "out", "in"), ("in", "-", "out")),
    "tee": (("out", "+", "in"), ("out", "-", "in"), ("out", "out", "in"), ("out", "in", "in")),
}
"""What the edges of a junction may be, counter-clockwise, by its kind."""

FORMS: tuple[Form, ...] = tuple((kind, at + 1, forms[at]) for kind, forms in SAID.items() for at in range(len(forms)))


def parties(count: int, guests: int) -> Facts:
    """Parties of `guests`, half of either sex, each with two or three of three hobbies."""
    choose = random.Random(17)
    everybody: list[Row] = []
    for party in range(1, count + 1):
        for name in range(1, guests + 1):
            hobbies = choose.sample((1, 2, 3), choose.randint(2, 3))
            everybody += [(party, name, "m" if name % 2 else "f", hobby) for hobby in hobbies]
    return {"guest": everybody, "seats": [(party, guests) for party in range(1, count + 1)]}


def wrong_rows(facts: Mapping[str, Iterable[Row]], rows: Iterable[Row]) -> str:
    """What is wrong with rows of (party, seat, guest); nothing when every party is seated as it should be."""
    sexes: dict[tuple[int | str, int | str], int | str] = {}
    hobbies: dict[tuple[int | str, int | str], set[int | str]] = defaultdict(set)
    for party, name, sex, hobby in facts["guest"]:
        sexes[party, name] = sex
        hobbies[party, name].add(hobby)
    seated: dict[int | str, dict[int | str, int | str]] = defaultdict(dict)
    for party, seat, guest in rows:
        if seat in seated[party]:
            return f"party {party} has two guests on seat {seat}"
        seated[party][seat] = guest
    for party, number in facts["seats"]:
        row = [seated[party].get(seat) for seat in range(1, int(number) + 1)]
        if len(seated[party]) != number or set(row) != {name for at, name in sexes if at == party}:
            return f"party {party} is not seated"
        for left, right in pairwise((party, guest) for guest in row if guest is not None):
            if sexes[left] == sexes[right] or not hobbies[left] & hobbies[right]:
                return f"party {party}: {left[1]} and {right[1]} do not fit"
    return ""


def drawing(regions: int, steps: int = 3) -> Facts:
    """Drawings of stairs from the front, the side and above, with a plate behind them; a line of each is known."""
    lines: list[Row] = []
    known: list[Row] = []
    points: dict[tuple[int, int, int], int] = {}
    for region in range(regions):

        def name(place: tuple[int, int], region: int = region) -> int:
            return points.setdefault((region, *place), len(points) + 1)

        for start, end in _lines_of_stairs(steps):
            direction = DIRECTIONS[_sign(end[0] - start[0]), _sign(end[1] - start[1])]
            lines.append((name(start), name(end), direction))
        known.append((name((0, 0)), name((2 * steps, 0)), "in"))
    return {"line": lines, "known": known}


def labels(facts: Mapping[str, Iterable[Row]]) -> set[Row]:
    """What each line may be, as (from, to, label), found by striking forms out of sets, one after the other."""
    edges: dict[int, dict[int, int]] = defaultdict(dict)
    for start, end, direction in facts["line"]:
        edges[int(start)][int(end)] = int(direction)
        edges[int(end)][int(start)] = (int(direction) + 4) % 8
    known = {(start, end): label for start, end, label in facts["known"]}
    may: dict[int, list[dict[int, str]]] = {}
    for point, ends in edges.items():
        kind, order = _junction(ends)
        forms = [dict(zip(order, said, strict=True)) for said in SAID[kind]]
        may[point] = [said for said in forms if all(known.get((point, end), of) == of for end, of in said.items())]
    waiting = set(edges)
    while waiting:
        point = waiting.pop()
        kept = [
            said
            for said in may[point]
            if all(any(there[point] == OPPOSITE[of] for there in may[end]) for end, of in said.items())
        ]
        if len(kept) < len(may[point]):
            may[point] = kept
            waiting |= {*edges[point], point}
    return {(point, end, of) for point, forms in may.items() for said in forms for end, of in said.items()}


def joined(facts: Mapping[str, Iterable[Row]]) -> set[Row]:
    """result(x, y) of near(x, z), use(x, z), request(z, y)."""
    use = set(facts["use"])
    requests: dict[int | str, list[int | str]] = defaultdict(list)
    for place, answer in facts["request"]:
        requests[place].append(answer)
    return {(row[0], answer) for row in facts["near"] if row in use for answer in requests[row[1]]}


def _lines_of_stairs(steps: int) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
    width = 2 * steps
    front = [(width, 0)]
    for step in range(steps):
        front += [(width - 2 * step, 2 * step + 2), (width - 2 * step - 2, 2 * step + 2)]
    back = [(x + 1, y + 1) for x, y in front]
    yield (0, 0), (width, 0)
    yield from pairwise([(0, 0), (0, 1), (0, 3), (0, width)])
    yield from pairwise(front)
    yield from pairwise(back)
    yield from zip(front, back, strict=True)
    yield from pairwise([(0, 1), (-1, 1), (-1, 3), (0, 3)])


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _junction(ends: Mapping[int, int]) -> tuple[str, tuple[int, ...]]:
    """The kind of a point by the directions of its edges, and the edges in the order of its forms."""
    for first in ends:
        order = sorted(ends, key=lambda end: (ends[end] - ends[first]) % 8)
        turns = [(ends[end] - ends[first]) % 8 for end in order]
        if len(ends) == 2 and turns[1] < 4:
            return "L", tuple(order)
        if len(ends) == 3 and turns[2] < 4:
            return "arrow", tuple(order)
        if len(ends) == 3 and turns[2] == 4:
            return "tee", tuple(order)
    first = min(ends)
    return "fork", tuple(sorted(ends, key=lambda end: (ends[end] - ends[first]) % 8))
