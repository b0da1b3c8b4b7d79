"""The rules UC, CF and RT of the Yield paper (6.2) with tuples from fixed seeds, in two sizes.

Where plain random values would hardly ever meet, as in UC and CF, some tuples are drawn so that they do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from benchmarks.generators import Rows, pairs

SIZES = {"s": 50_000, "l": 100_000}


@dataclass(frozen=True, slots=True)
class YieldWorkload:
    """A rule, its tuples for a size, and the relation of which half is inserted while the clock runs."""

    name: str
    text: str
    inserted: str
    tuples: Callable[[int], Mapping[str, Rows]]


def channel_tuples(size: int) -> Mapping[str, Rows]:
    """Pairs over 500,000 values; half of `use` is drawn from `near`."""
    random, values = default_rng(110), 500_000
    near, request = pairs(random, values, size), pairs(random, values, size)
    use = np.vstack([near[: size // 2], pairs(random, values, size // 2)])
    return {"near": near, "use": use, "request": request}


def flight_tuples(size: int) -> Mapping[str, Rows]:
    """100,000 persons, 1,000 cities, 100 flights. Person 0 is Tom: he has 500 friends, a tenth of them in his city."""
    random, persons, cities, flights = default_rng(111), 100_000, 1_000, 100
    friends = random.integers(1, persons, 500)
    toms = np.column_stack([np.zeros(500, np.int64), friends])
    friend = np.vstack([toms, pairs(random, persons, size - 500)])
    home = np.column_stack([random.permutation(persons)[: size - 51], random.integers(1, cities, size - 51)])
    at_toms = np.column_stack([np.append(friends[:50], 0), np.zeros(51, np.int64)])
    ticket = np.column_stack([random.integers(0, persons, size), random.integers(0, flights, size)])
    order = random.permutation(size)
    return {"friend": friend[order], "city": np.vstack([at_toms, home]), "ticket": ticket}


def routing_tuples(size: int) -> Mapping[str, Rows]:
    """Links between 20,000 nodes, of which 1,000 are located."""
    random, nodes = default_rng(112), 20_000
    return {"link": pairs(random, nodes, size), "located": random.permutation(nodes)[:1_000].reshape(-1, 1)}


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
)
WORKLOADS = {workload.name: workload for workload in (UC, CF, RT)}
