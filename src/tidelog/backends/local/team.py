"""Threads that share the work of a round.

Threads derive pieces side by side and leave out, without writing, what the head has already: nearly everything, in a
long run. What is left is added by one thread, in the order of the pieces, so that it does not matter who was quicker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from tidelog.backends.local.batch import MORSEL, Batch
from tidelog.backends.local.body import Body
from tidelog.backends.local.evaluation import Evaluation
from tidelog.facts.membership import Rows
from tidelog.facts.relation import Relation

_WORTH_SHARING = 1 << 18
"""Rows to be derived in a round, below which one thread does the work: handing a piece over costs as much as some
10,000 rows."""

_PIECE = 1 << 17
"""Rows to be derived in one piece."""

_WINDOW = 8
"""Pieces for each thread between two looks at what is new."""

_MOST_NEW = 1 << 21
"""New rows of one piece after which it pauses, so that they are added before memory runs out."""

_FIRST_GUESS = 4.0


@dataclass(frozen=True, slots=True)
class Task:
    """One rule to be run: its body, ready to run, and the relation that takes its rows."""

    body: Body
    head: Relation
    evaluation: Evaluation

    def run(self, batches: list[Batch]) -> Iterator[Rows]:
        return self.body.run(iter(batches), self.evaluation)


@dataclass(slots=True)
class Progress:
    """What a task starts from, how many rows each of them was seen to derive before, and how many it has derived."""

    task: Task
    morsels: list[Batch]
    start: int
    fan_out: float
    derived: int = 0


class Team:
    """`jobs` threads. It remembers how many rows a body derived from each row it started with, to cut good pieces."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = ThreadPoolExecutor(jobs, "tidelog") if jobs > 1 else None
        self._fan_outs: dict[int, float] = {}

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Rows, int]]:
        """The rows that each task gives, some at a time, with the number of rows that were derived.

        The caller must stage them before it asks for more.
        """
        work = [self._begin(task) for task in tasks]
        if self._pool is None or sum(each.start * each.fan_out for each in work) < _WORTH_SHARING:
            results = _alone(work)
        else:
            results = self._shared(self._pool, work)
        for each, rows, count in results:
            each.derived += count
            yield each.task, rows, count
        for each in work:
            if each.start:
                self._fan_outs[id(each.task.body)] = each.derived / each.start

    def forget(self) -> None:
        """Drops what is known about bodies, because they are translated anew."""
        self._fan_outs.clear()

    def _begin(self, task: Task) -> Progress:
        morsels = list(task.body.source.morsels(task.evaluation))
        start = sum(morsel.size for morsel in morsels)
        return Progress(task, morsels, start, self._fan_outs.get(id(task.body), _FIRST_GUESS))

    def _shared(self, pool: ThreadPoolExecutor, work: list[Progress]) -> Iterator[tuple[Progress, Rows, int]]:
        streams = deque((each, each.task.run([piece])) for each in work for piece in _pieces(each, self._jobs))
        while streams:
            window = [streams.popleft() for _ in range(min(len(streams), _WINDOW * self._jobs))]
            unfinished = []
            # All of them first: nobody may add to a head while a thread still asks it.
            results = list(pool.map(_take, (stream for _, stream in window), (each.task.head for each, _ in window)))
            for (each, stream), (taken, is_done) in zip(window, results, strict=True):
                for rows, count in taken:
                    yield each, rows, count
                if not is_done:
                    unfinished.append((each, stream))
            for each, _ in window:
                each.task.head.settle()
            streams.extendleft(reversed(unfinished))


def _alone(work: list[Progress]) -> Iterator[tuple[Progress, Rows, int]]:
    for each in work:
        for rows in each.task.run(each.morsels):
            yield each, rows, rows.shape[0]


def _pieces(each: Progress, jobs: int) -> Iterator[Batch]:
    """The rows that a task starts from, in pieces that derive about as much each."""
    wanted = int(_PIECE / max(each.fan_out, 1e-3))
    piece = max(1, min(wanted, MORSEL, -(-each.start // jobs)))
    for morsel in each.morsels:
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
