"""Threads that push what the rules of a round derive, all rules at the same time.

Rows that a rule reads do not change in a round, and the sets of the heads are shared: so a piece of any rule may run
beside any other, and threads are called together once for a round. Whenever a set has no room, all of them stop until
it has.

Where much more is derived than read, or each row to start from has the first id of what follows from it, the first ids
of a head are divided between the threads, and each goes through all rows for its own: no other writes where it does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.operands import bind_own, bind_shared, identify_constants
from tidelog.backends.local.pushing import PushedCode, Vectorised
from tidelog.backends.local.shares import RowRoom, Share, gather
from tidelog.backends.local.sinks import Arrays
from tidelog.backends.local.team import Team
from tidelog.codegen.operands import Operand
from tidelog.facts.relation import Relation
from tidelog.kernels import jit

_WORTH_SHARING = 1 << 15
"""Rows to start from and to be derived in a round, below which one thread does the work."""

_LEAST = 1 << 15
"""Rows to start from and to be derived in one piece: a call costs as much as some thousand."""

_WORTH_DIVIDING = 32
"""Rows derived for each that several threads must read and join, from which on they do so."""

_SHARE = 2
"""A thread takes this part of what would be its own, if the work that is left were shared out evenly."""

_SHARE_OF_STRANGER = 4
"""As `_SHARE`, of the rows of a rule that nobody has seen run yet."""


@dataclass(slots=True)
class SharedRule:
    """A rule that threads run in this round: how far the rows to start from were given out, and what came of them.

    Its ids may be divided into `parts`, one for each thread: then each of these is given all rows.
    """

    code: PushedCode
    evaluation: Evaluation
    in_batch: Vectorised
    total: int
    parts: int = 1
    given: list[int] = field(default_factory=lambda: [0])
    derived: int = 0
    failed: list[int] = field(default_factory=list)
    arrays: Sequence[Arrays | None] = ()

    @property
    def work(self) -> float:
        """Rows to read and to derive for each row to start from, on average."""
        return (1 + self.code.fan_out) / self.parts


@dataclass(slots=True)
class Piece:
    """Some of the rows that a rule starts from, for one part of its ids."""

    rule: SharedRule
    part: int
    begin: int
    end: int


class Crew:
    """The threads of a team, and what they keep from round to round: where they push to, and room to gather ids."""

    def __init__(self, team: Team, relations: Mapping[str, Relation]) -> None:
        self._team = team
        self._relations = relations
        self._rooms: dict[str, RowRoom] = {}
        self._workers = [_Worker(number) for number in range(team.jobs)]

    def push(self, rules: Sequence[SharedRule]) -> None:
        """Stages what the rules derive, and notes in each how many rows, known ones included."""
        jobs = self._team.jobs if sum(rule.total * rule.work for rule in rules) > _WORTH_SHARING else 1
        expected: dict[str, float] = defaultdict(float)
        for rule in rules:
            expected[rule.evaluation.rule.head] += rule.total * rule.code.fan_out
        rooms = {head: self._room(head, int(rows)) for head, rows in expected.items()}
        if jobs > 1:
            _divide(rules, rooms, jobs)
        _push(rules, rooms, self._workers[:jobs], self._team)

    def _room(self, head: str, expected: int) -> RowRoom:
        """The room behind the rows of a relation, of which so many are expected, which a share of each worker takes
        from."""
        relation = self._relations[head]
        known = self._rooms.get(head)
        if known is None or known.relation is not relation:
            known = self._rooms[head] = RowRoom(relation)
            for worker in self._workers:
                worker.shares[head] = Share(known)
        known.begin(expected)
        return known


def _push(rules: Sequence[SharedRule], rooms: Mapping[str, RowRoom], workers: Sequence[_Worker], team: Team) -> None:
    for rule in rules:
        identify_constants(rule.code.rule.operands, rule.evaluation.store)
    for worker in workers:
        worker.begin()
    queue = _Queue(rules, len(workers))
    work = partial(_push_pieces, queue=queue)
    # What is not compiled is no single step for other threads: then one share is run after the other.
    run_all = team.map if jit.is_compiled() else map
    has_ended = False
    while not has_ended:
        for name, room in rooms.items():
            room.open(len(workers))
            for worker in workers:
                worker.shares[name].open(len(workers))
        # Only now: sets may have grown.
        for rule in rules:
            rule.arrays = bind_shared(rule.code.rule.operands, rule.evaluation)
        try:
            has_ended = all(list(run_all(work, workers)))
        finally:
            # What was pushed before an error is in the sets already, so that it must be stored too.
            for name, room in rooms.items():
                gather(room, [worker.shares[name] for worker in workers])
        queue.go_on()
    for rule in rules:
        rule.derived += sum(worker.derived[id(rule)] for worker in workers if id(rule) in worker.derived)
        rule.code.fan_out, rule.code.is_known = rule.derived / max(1, rule.total), True
        for row in dict.fromkeys(rule.failed):
            rule.in_batch(row, row + 1)


def _divide(rules: Sequence[SharedRule], heads: Iterable[str], jobs: int) -> None:
    """Divides the ids of heads of pairs for which much more is derived than read."""
    for head in heads:
        of_head = [rule for rule in rules if rule.evaluation.rule.head == head]
        read_again = sum(rule.code.rows_to_read(rule.evaluation) for rule in of_head if not rule.code.rule.keeps_first)
        derived = sum(rule.total * rule.code.fan_out for rule in of_head)
        if all(rule.code.rule.is_divided for rule in of_head) and derived > _WORTH_DIVIDING * read_again:
            for rule in of_head:
                rule.parts, rule.given = jobs, [0] * jobs


@cache
def own_ids(part: int, parts: int) -> npt.NDArray[np.int64]:
    """Bits of the ids that belong to one of so many threads, for each kind of words (see `shared_push`)."""
    owners = (np.arange(parts)[:, None] + np.arange(8)) % parts
    return np.where(owners == part, 0xFF, 0).astype(np.uint8).view("<i8").reshape(-1)


class _Worker:
    """What one thread has: a share of each head, room to gather ids, and the piece at which it had to stop."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.shares: dict[str, Share] = {}
        self.scratch: dict[Operand, Arrays] = {}
        self.begin()

    def begin(self) -> None:
        """Forgets what it has derived."""
        self.left: Piece | None = None
        self.derived: dict[int, int] = {}


def _push_pieces(worker: _Worker, queue: _Queue) -> bool:
    """Pushes until nothing is left or a set has no room; whether it had room."""
    try:
        arguments: tuple[SharedRule | None, list[Any]] = (None, [])
        for piece in queue.after(worker.left, worker.number):
            worker.left = piece
            share = worker.shares[piece.rule.evaluation.rule.head]
            if arguments[0] is not piece.rule:
                arguments = (piece.rule, _bound(piece.rule, share, worker))
            while piece.begin < piece.end:
                _push_on(piece, share, arguments[1], worker)
                if piece.begin < piece.end and share.lacks_room:
                    if not share.make_row_room():
                        queue.pause()
                        return False
                    arguments = (piece.rule, _bound(piece.rule, share, worker))
        worker.left = None
        for head in queue.heads:
            worker.shares[head].settle()
    except BaseException:
        queue.stop()
        raise
    return True


def _bound(rule: SharedRule, share: Share, worker: _Worker) -> list[Any]:
    return bind_own(rule.code.rule.operands, rule.arrays, rule.evaluation, share.arrays(), worker.scratch)


def _push_on(piece: Piece, share: Share, arguments: Iterable[Any], worker: _Worker) -> None:
    """Pushes what follows from the rows of a piece, up to where it has to stop."""
    rule = piece.rule
    mine = (own_ids(piece.part, rule.parts),) if rule.code.rule.is_divided else ()
    reached = int(rule.code.kernel(*arguments, piece.begin, piece.end, *mine))
    derived = share.derived()
    worker.derived[id(rule)] = worker.derived.get(id(rule), 0) + derived
    rule.evaluation.watch(rule.evaluation.rule, derived)
    share.lacks_room = 0 <= reached < piece.end
    if reached < 0:
        rule.failed.append(~reached)
    piece.begin = reached if reached >= 0 else ~reached + 1


class _Queue:
    """The pieces of all rules, those of one rule after those of another: long enough that a call costs nothing, short
    enough to be watched, and shorter towards the end, so that threads end together. They may take pieces at the same
    time."""

    def __init__(self, rules: Sequence[SharedRule], jobs: int) -> None:
        self._rules = [list(reversed(rules)) for _ in range(jobs)]
        self._left = sum(rule.total * rule.parts * rule.work for rule in rules)
        self._jobs = jobs
        self.heads = frozenset(rule.evaluation.rule.head for rule in rules)
        self._is_paused = False
        self._lock = Lock()

    def after(self, piece: Piece | None, thread: int) -> Iterator[Piece]:
        """A piece, then others for that thread until there are none."""
        while piece := piece or self._take(thread):
            started, rows = perf_counter(), piece.end - piece.begin
            yield piece
            piece.rule.code.learn(rows, perf_counter() - started)
            piece = None

    def _take(self, thread: int) -> Piece | None:
        with self._lock:
            rules = self._rules[thread]
            while rules and not self._is_paused:
                rule = rules[-1]
                part = thread % rule.parts
                begin = rule.given[part]
                if begin < rule.total:
                    end = rule.given[part] = min(rule.total, begin + self._size(rule))
                    self._left -= (end - begin) * rule.work
                    return Piece(rule, part, begin, end)
                rules.pop()
            return None

    def _size(self, rule: SharedRule) -> int:
        if self._jobs == 1 or rule.parts > 1:
            return rule.code.chunk
        fair = max(self._left / (_SHARE * self._jobs), _LEAST) / rule.work
        if not rule.code.is_known:
            fair = min(fair, rule.total / (_SHARE_OF_STRANGER * self._jobs))
        return max(1, min(rule.code.chunk, int(fair)))

    def pause(self) -> None:
        """Gives out no more pieces until it goes on."""
        self._is_paused = True

    def go_on(self) -> None:
        """Gives out the pieces that are left."""
        self._is_paused = False

    def stop(self) -> None:
        """Gives out no more pieces."""
        with self._lock:
            for rules in self._rules:
                rules.clear()
