"""The rules UC, CF, RT and RG of the Yield paper (6.2) with tuples from fixed seeds.

The paper says which values are drawn, but not how many tuples meet; plain random values would hardly ever do in UC and
CF. What it tells of that is how many tuples its own index reads in Table 1: 1,026 and 8,327 in UC, 34 and 106 in CF,
2,634 and 4,274 in RT. The shares below are chosen from these figures; `yield_tables` prints other shares beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import default_rng

from benchmarks.generators import Rows, pairs

SIZES = {"s": 50_000, "l": 100_000}
ARCS = {"RG1": 6_000, "RG2": 8_000, "RG3": 10_000, "RG4": 12_000, "RG5": 15_000}
VERTICES, WITH_ARCS = 3_000, 200


@dataclass(frozen=True, slots=True)
class YieldWorkload:
    """A rule, its tuples for a size, the relation of which half is inserted while counting, and other shares of tuples
    that meet, which `tuples` takes too."""

    name: str
    text: str
    inserted: str
    tuples: Callable[..., Mapping[str, Rows]]
    shares: tuple[float, ...]


def variants(workload: YieldWorkload) -> list[YieldWorkload]:
    """`workload` with other shares of tuples that meet."""
    return [
        replace(workload, name=f"{workload.name} {share:g}", tuples=partial(workload.tuples, share=share))
        for share in workload.shares
    ]


def channel_tuples(size: int, share: float = 0.1) -> Mapping[str, Rows]:
    """Pairs over 500,000 values (the paper's); a share of `use` is drawn from `near`.

    A match reads three tuples, and a fifth (in the smaller set a tenth) of the values has a request: the paper's
    figures come out with 0.07 and 0.14.
    """
    random, values = default_rng(110), 500_000
    near, request = pairs(random, values, size), pairs(random, values, size)
    drawn = near[random.permutation(size)[: int(size * share)]]
    return {"near": near, "use": np.vstack([drawn, pairs(random, values, size - len(drawn))]), "request": request}


def flight_tuples(size: int, share: float = 0.1) -> Mapping[str, Rows]:
    """100,000 persons, 1,000 cities, 100 flights (the paper's). Person 0 is Tom.

    He has 200 friends (our choice: the paper's FI, which reads all of them, reads 117 and 342 tuples), of whom a share
    lives in his city. A match reads four tuples and a friend has half a ticket or one: the paper's come out with 0.09
    and 0.13.
    """
    random, persons, cities, flights, known = default_rng(111), 100_000, 1_000, 100, 200
    friends = random.permutation(persons - 1)[:known] + 1
    toms = np.column_stack([np.zeros(known, np.int64), friends])
    friend = np.vstack([toms, pairs(random, persons, size - known)])
    near = friends[: int(known * share)]
    rest = size - len(near) - 1
    home = np.column_stack([random.permutation(persons)[:rest], random.integers(1, cities, rest)])
    at_toms = np.column_stack([np.append(near, 0), np.zeros(len(near) + 1, np.int64)])
    ticket = np.column_stack([random.integers(0, persons, size), random.integers(0, flights, size)])
    return {"friend": friend[random.permutation(size)], "city": np.vstack([at_toms, home]), "ticket": ticket}


def routing_tuples(size: int, share: float = 0.026) -> Mapping[str, Rows]:
    """Links between 20,000 nodes (the paper's), of which a share is located.

    A match reads two tuples: the paper's figures come out with 0.026 and 0.021. If they were matches, it would be with
    0.053 and 0.043. Its "50,000 tuples in each relation" cannot be: `located` has one column, and there are 20,000
    names.
    """
    random, nodes = default_rng(112), 20_000
    located = random.permutation(nodes)[: int(nodes * share)].reshape(-1, 1)
    return {"link": pairs(random, nodes, size), "located": located}


def arcs(count: int) -> Rows:
    """So many arcs from 200 of 3,000 vertices to any of them (the paper's)."""
    random = default_rng(113)
    sources = random.permutation(VERTICES)[:WITH_ARCS]
    chosen = random.permutation(WITH_ARCS * VERTICES)[:count]
    return np.column_stack([sources[chosen // VERTICES], chosen % VERTICES])


UC = YieldWorkload(
    "UC",
    """\
.decl near(x: number, z: number)
.decl use(x: number, z: number)
.decl request(z: number, y: number)
.decl result(x: number, y: number)
result(x, y) :- near(x, z), use(x, z), request(z, y).
""",
    "near",
    channel_tuples,
    (0.01, 0.1, 0.5, 1.0),
)
CF = YieldWorkload(
    "CF",
    """\
.decl friend(s: number, x: number)
.decl city(x: number, c: number)
.decl ticket(x: number, y: number)
.decl result(s: number, y: number)
result(s, y) :- friend(s, x), city(s, c), city(x, c), ticket(x, y), s = 0.
""",
    "friend",
    flight_tuples,
    (0.01, 0.1, 0.5, 1.0),
)
RT = YieldWorkload(
    "RT",
    """\
.decl link(x: number, y: number)
.decl located(x: number)
.decl result(x: number, y: number)
result(x, y) :- link(x, y), located(x).
""",
    "link",
    routing_tuples,
    (0.01, 0.026, 0.053, 0.2, 1.0),
)
WORKLOADS = {workload.name: workload for workload in (UC, CF, RT)}
RG = """\
.decl arc(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- arc(x, y).
path(x, y) :- arc(x, z), path(z, y).
"""
