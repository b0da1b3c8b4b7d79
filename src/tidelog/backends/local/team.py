"""Threads that share the work of a round.

Threads derive pieces side by side and leave out, without writing, what the head has already: nearly everything, in a
long run. What is left is added by one thread, in the order of the pieces, so that it does not matter who was quicker.
Where nearly everything is new, that one thread has most of the work anyway: there it does all of it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from tidelog.backends.local.batch import MORSEL, Batch
from tidelog.backends.local.body import Body
from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.helper import Helper
from tidelog.facts.membership import Rows
from tidelog.facts.relation import Relation

Given = TypeVar("Given")
Gained = TypeVar("Gained")

_WORTH_SHARING = 1 << 17
"""Rows to be derived in a round and left out again, below which one thread does the work: handing a piece over costs as
much as some 10,000 rows."""

_TRIAL = 1
"""Morsels from which one thread learns the habits of a body that is new to it."""

_PIECE = 1 << 17
"""Rows to be derived in one piece."""

_WINDOW = 8
"""Pieces for each thread between two looks at what is new."""

_MOST_NEW = 1 << 21
"""New rows of one piece after which it pauses, so that they are added before memory runs out."""


@dataclass(frozen=True, slots=True)
class Task:
    """One rule to be run: its body, ready to run, and the relation that takes its rows."""

    body: Body
    head: Relation
    evaluation: Evaluation
    runs_ahead: bool

    def run(self, batches: list[Batch]) -> Iterator[Rows]:
        return self.body.run(iter(batches), self.evaluation)


@dataclass(frozen=True, slots=True)
class Habit:
    """What a body was seen to do: rows derived from each row it started with, and the share of them that were known."""

    fan_out: float
    known: float


@dataclass(slots=True)
class Progress:
    """What a task has yet to start from, what it has started from, and what it has derived."""

    task: Task
    waiting: list[Batch]
    started: int = 0
    derived: int = 0

    def take(self, morsels: int | None = None) -> list[Batch]:
        """The next `morsels` of those that wait, or all."""
        taken, self.waiting = self.waiting[:morsels], self.waiting[morsels:] if morsels is not None else []
        self.started += sum(batch.size for batch in taken)
        return taken


class Team:
    """`jobs` threads. It remembers the habits of bodies, to see what is worth sharing and to cut good pieces."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._helpers: list[Helper] = []
        self._habits: dict[int, Habit] = {}

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Rows, int]]:
        """The rows that each task gives, some at a time, with the number of rows that were derived.

        The caller must stage them before it asks for more.
        """
        if self.jobs == 1:
            for task in tasks:
                for rows in task.body.run(task.body.source.morsels(task.evaluation), task.evaluation):
                    yield task, rows, rows.shape[0]
            return
        work = [Progress(task, list(task.body.source.morsels(task.evaluation))) for task in tasks]
        for each, rows, count in self._together(work):
            each.derived += count
            yield each.task, rows, count

    def map(self, work: Callable[[Given], Gained], given: Iterable[Given]) -> list[Gained]:
        """What `work` makes of each of at most `jobs`, all of them at the same time: this thread takes the first."""
        first, *others = given
        self._helpers += [Helper() for _ in range(len(others) - len(self._helpers))]
        promised = [helper.start(work, each) for helper, each in zip(self._helpers, others, strict=False)]
        try:
            made = work(first)
        finally:
            ended = [each.get() for each in promised]
        return [made, *(each.result() for each in ended)]

    @property
    def parts(self) -> int:
        """Parts into which keys are divided between the threads, a power of two."""
        return 1 << (self.jobs.bit_length() - 1)

    def do_all(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Does all tasks; each thread takes the next one once it is done with another."""
        waiting = iter(tasks)  # giving out the next item is one step for all threads

        def do_next(_: int) -> None:
            for task in waiting:
                task()

        if self.jobs == 1 or len(tasks) == 1:
            do_next(0)
        elif tasks:
            self.map(do_next, range(min(self.jobs, len(tasks))))

    def forget(self) -> None:
        """Drops what is known about bodies, because they are translated anew."""
        self._habits.clear()

    def _together(self, work: list[Progress]) -> Iterator[tuple[Progress, Rows, int]]:
        before = {id(each.task.head): each.task.head.count for each in work}
        strangers = [each for each in work if id(each.task.body) not in self._habits]
        if strangers:
            yield from _alone(strangers, morsels=_TRIAL)
            self._learn(work, before)
        if sum(self._known_rows(each) for each in work) < _WORTH_SHARING:
            yield from _alone(work)
        else:
            yield from self._shared(work)
        self._learn(work, before)

    def _learn(self, work: list[Progress], before: dict[int, int]) -> None:
        """Notes what the bodies did. New rows of a head are credited to its bodies by what they derived."""
        derived: dict[int, int] = defaultdict(int)
        for each in work:
            derived[id(each.task.head)] += each.derived
        for each in work:
            head = each.task.head
            head.settle()
            if each.started and derived[id(head)]:
                known = 1 - (head.count - before[id(head)]) / derived[id(head)]
                self._habits[id(each.task.body)] = Habit(each.derived / each.started, known)

    def _known_rows(self, each: Progress) -> float:
        """How many known rows a task is expected to derive from what it has yet to start from."""
        habit = self._habits.get(id(each.task.body))
        return sum(batch.size for batch in each.waiting) * habit.fan_out * habit.known if habit else 0.0

    def _shared(self, work: list[Progress]) -> Iterator[tuple[Progress, Rows, int]]:
        streams = deque((each, each.task.run([piece])) for each in work for piece in self._pieces(each))
        while streams:
            window = [streams.popleft() for _ in range(min(len(streams), _WINDOW * self.jobs))]
            unfinished = []
            takes = [Take(stream, each.task.head) for each, stream in window]
            # All of them first: nobody may add to a head while a thread still asks it.
            self.do_all([take.run for take in takes])
            for (each, stream), take in zip(window, takes, strict=True):
                for rows, count in take.taken:
                    yield each, rows, count
                if not take.is_done:
                    unfinished.append((each, stream))
            for each, _ in window:
                each.task.head.settle()
            streams.extendleft(reversed(unfinished))

    def _pieces(self, each: Progress) -> Iterator[Batch]:
        """The rows that a task starts from, in pieces that derive about as much each."""
        morsels = each.take()
        habit = self._habits.get(id(each.task.body))
        wanted = int(_PIECE / max(habit.fan_out, 1e-3)) if habit else _PIECE
        piece = max(1, min(wanted, MORSEL, -(-sum(batch.size for batch in morsels) // self.jobs)))
        for morsel in morsels:
            for begin in range(0, morsel.size, piece):
                yield Batch(morsel.rows[begin : begin + piece], morsel.names)


def _alone(work: list[Progress], morsels: int | None = None) -> Iterator[tuple[Progress, Rows, int]]:
    """What each task gives from its next `morsels`, or from all, derived by one thread."""
    for each in work:
        for rows in each.task.run(each.take(morsels)):
            yield each, rows, rows.shape[0]


@dataclass(slots=True)
class Take:
    """Batches of `stream` without the rows that `head` has, each with its size before, and whether the stream has
    ended."""

    stream: Iterator[Rows]
    head: Relation
    taken: list[tuple[Rows, int]] = field(default_factory=list)
    is_done: bool = False

    def run(self) -> None:
        size = 0
        for rows in self.stream:
            new = self.head.membership.unknown(np.ascontiguousarray(rows))
            self.taken.append((new, rows.shape[0]))
            size += new.shape[0]
            if size >= _MOST_NEW:
                return
        self.is_done = True
