"""Threads that share the work of a rule.

Threads derive pieces side by side and leave out, without writing, what the head has already: nearly everything, in a
long run. What is left is added by one thread, in the order of the pieces, so that it does not matter who was quicker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import numpy as np

from tidelog.backends.local.batch import MORSEL, Batch
from tidelog.backends.local.body import Body
from tidelog.backends.local.evaluation import Evaluation
from tidelog.facts.membership import Rows
from tidelog.facts.relation import Relation

_WORTH_SHARING = 1 << 17
"""Rows to be derived, below which one thread does the work: handing a piece over costs as much as some 10,000 rows."""

_PIECE = 1 << 16
"""Rows to be derived in one piece."""

_WINDOW = 8
"""Pieces for each thread between two looks at what is new."""

_MOST_NEW = 1 << 21
"""New rows of one piece after which it pauses, so that they are added before memory runs out."""

_FIRST_GUESS = 4.0


class Team:
    """`jobs` threads. It remembers how many rows a body derived from each row it started with, to cut good pieces."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = ThreadPoolExecutor(jobs, "tidelog") if jobs > 1 else None
        self._fan_outs: dict[int, float] = {}

    def rows(self, body: Body, head: Relation, evaluation: Evaluation) -> Iterator[tuple[Rows, int]]:
        """The rows that `body` gives, some at a time, each with the number of rows that were derived.

        The caller must add them to the `head` before it asks for more.
        """
        morsels = list(body.source.morsels(evaluation))
        start = sum(morsel.size for morsel in morsels)
        fan_out = self._fan_outs.get(id(body), _FIRST_GUESS)
        derived = 0
        results: Iterator[tuple[Rows, int]]
        if self._pool is None or start * fan_out < _WORTH_SHARING:
            results = ((rows, int(rows.shape[0])) for rows in body.run(iter(morsels), evaluation))
        else:
            results = self._shared(self._pool, body, _pieces(morsels, start, fan_out, self._jobs), head, evaluation)
        for rows, count in results:
            derived += count
            yield rows, count
        if start:
            self._fan_outs[id(body)] = derived / start

    def forget(self) -> None:
        """Drops what is known about bodies, because they are translated anew."""
        self._fan_outs.clear()

    def _shared(
        self, pool: ThreadPoolExecutor, body: Body, pieces: Iterator[Batch], head: Relation, evaluation: Evaluation
    ) -> Iterator[tuple[Rows, int]]:
        streams = deque(body.run(iter([piece]), evaluation) for piece in pieces)
        while streams:
            window = [streams.popleft() for _ in range(min(len(streams), _WINDOW * self._jobs))]
            unfinished = []
            # All of them first: nobody may add to the head while a thread still asks it.
            results = list(pool.map(_take, window, repeat(head)))
            for stream, (taken, is_done) in zip(window, results, strict=True):
                yield from taken
                if not is_done:
                    unfinished.append(stream)
            head.settle()
            streams.extendleft(reversed(unfinished))


def _pieces(morsels: list[Batch], start: int, fan_out: float, jobs: int) -> Iterator[Batch]:
    """The rows of `morsels` in pieces that derive about as much each, and are enough for all threads."""
    wanted = int(_PIECE / max(fan_out, 1e-3))
    piece = max(1, min(wanted, MORSEL, -(-start // (2 * jobs))))
    for morsel in morsels:
        for begin in range(0, morsel.size, piece):
            yield Batch(morsel.rows[begin : begin + piece], morsel.names)


def _take(stream: Iterator[Rows], head: Relation) -> tuple[list[tuple[Rows, int]], bool]:
    """Batches of `stream` without the rows that `head` has, and whether the stream has ended."""
    taken: list[tuple[Rows, int]] = []
    size = 0
    for rows in stream:
        new = head.membership.unknown(np.ascontiguousarray(rows))
        taken.append((new, rows.shape[0]))
        size += new.shape[0]
        if size >= _MOST_NEW:
            return taken, False
    return taken, True
