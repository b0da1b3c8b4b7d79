"""Rules run by generated code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from time import perf_counter
from typing import Any

from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.operands import Interned, bind, settle_interned
from tidelog.backends.local.shares import RowRoom, Share, Stretch, gather
from tidelog.backends.local.sinks import Sink, sink_for
from tidelog.backends.local.store import Store
from tidelog.codegen.operands import ChangedKeys, NotPushed, PushedRule
from tidelog.codegen.push_rule import Sharing, push_rule
from tidelog.kernels import jit
from tidelog.kernels.generated import generated_kernel
from tidelog.kernels.jit import Kernel
from tidelog.plan.nodes import RulePlan

_FEW = 1 << 14
_BRIEF, _LONG = 0.02, 0.1
_WORTH_SHARING = 1 << 16

Vectorised = Callable[[int, int], None]
"""Runs the rule for some of the rows that it starts from, as batches."""


@dataclass(slots=True)
class PushedCode:
    """The code of a rule, and how many rows to start from in one call."""

    rule: PushedRule
    kernel: Kernel[..., Any]
    sharing: Sharing
    chunk: int = _FEW
    fan_out: float = 1.0
    interned: Interned = field(default_factory=dict)

    def run(self, evaluation: Evaluation, vectorised: Vectorised, threads: Executor | None, jobs: int) -> int:
        """Stages what the rule derives, whose operands are up to date; how many rows, known ones included."""
        if threads is None or self.sharing is Sharing.ALONE:
            return self._run_alone(evaluation, vectorised)
        return self._run_together(evaluation, vectorised, threads, jobs)

    def _run_alone(self, evaluation: Evaluation, vectorised: Vectorised) -> int:
        store = evaluation.store
        sink = sink_for(store.relations[evaluation.rule.head])
        derived = 0
        for begin, end in _Pieces(self, self._rows_to_start_from(store)).after((0, 0)):
            derived += self._push(begin, end, sink, evaluation, vectorised)
        return derived

    def _run_together(self, evaluation: Evaluation, vectorised: Vectorised, threads: Executor, jobs: int) -> int:
        """Threads push at the same time; whenever the set has no room, all of them stop until it has."""
        store = evaluation.store
        head = store.relations[evaluation.rule.head]
        head.settle()
        total = self._rows_to_start_from(store)
        jobs = jobs if self.fan_out * total > _WORTH_SHARING else 1
        # What is not compiled is no single step for other threads: then one share is run after the other.
        run_all = threads.map if jobs > 1 and jit.is_compiled() else map
        pieces = _Pieces(self, total, jobs)
        room = RowRoom(head)
        shares = [Share(room, jobs) for _ in range(jobs)]
        failed: list[int] = []
        derived = 0
        work = partial(self._push_share, pieces=pieces, evaluation=evaluation, failed=failed)
        has_ended = False
        while not has_ended:
            room.open()
            for share in shares:
                share.open()
            done = list(run_all(work, shares))
            derived += sum(each for each, _ in done)
            gather(room, shares)
            pieces.go_on()
            has_ended = all(had_room for _, had_room in done)
        for row in failed:
            vectorised(row, row + 1)
        self.fan_out = derived / max(1, total)
        return derived

    def _push_share(self, share: Share, pieces: _Pieces, evaluation: Evaluation, failed: list[int]) -> tuple[int, bool]:
        """Pushes until nothing is left or the set has no room: how many rows were derived, and whether it had room."""
        derived = 0
        try:
            for begin, end in pieces.after(share.piece):
                share.piece = (begin, end)
                arguments = bind(self.rule.operands, evaluation.store, share.arrays(), self.interned)
                while share.piece[0] < end:
                    reached = int(self.kernel(*arguments, share.piece[0], end))
                    new = share.derived()
                    derived += new
                    evaluation.watch(evaluation.rule, new)
                    if reached < 0:
                        failed.append(~reached)
                    share.piece = (reached if reached >= 0 else ~reached + 1, end)
                    if 0 <= reached < end:
                        if not share.make_row_room():
                            pieces.pause()
                            return derived, False
                        arguments = bind(self.rule.operands, evaluation.store, share.arrays(), self.interned)
            share.settle()
        except BaseException:
            pieces.stop()
            raise
        return derived, True

    def _push(self, begin: int, end: int, sink: Sink, evaluation: Evaluation, vectorised: Vectorised) -> int:
        """Pushes what follows from some of the rows to start from; how many rows were derived."""
        store, position, derived = evaluation.store, begin, 0
        while position < end:
            arguments = bind(self.rule.operands, store, sink.arrays(), self.interned)
            reached = int(self.kernel(*arguments, position, end))
            if 0 <= reached < end:
                sink.make_room()
            new = sink.settle()
            settle_interned(self.interned, store)
            derived += new
            evaluation.watch(evaluation.rule, new)
            if reached < 0:
                vectorised(~reached, ~reached + 1)
            position = reached if reached >= 0 else ~reached + 1
        return derived

    def _rows_to_start_from(self, store: Store) -> int:
        start = self.rule.start
        if isinstance(start, ChangedKeys):
            return int(store.word_index(start.relation, start.key).delta.keys.size)
        return int(store.read(start.relation, start.version).shape[0])


class _Pieces:
    """Ranges of the rows to start from: long enough that a call costs nothing, short enough to be watched and shared.

    How long that is, the code remembers. Threads may take pieces at the same time.
    """

    def __init__(self, code: PushedCode, total: int, jobs: int = 1) -> None:
        self._code = code
        self._total = total
        self._most = max(1, total // (8 * jobs)) if jobs > 1 else total
        self._taken = 0
        self._is_paused = False
        self._lock = Lock()

    def after(self, piece: Stretch) -> Iterator[Stretch]:
        """What is left of a piece, then others until there are none."""
        begin, end = piece
        while True:
            if begin < end:
                started = perf_counter()
                yield begin, end
                self._learn(end - begin, perf_counter() - started)
            with self._lock:
                begin = self._taken
                if begin >= self._total or self._is_paused:
                    return
                self._taken = end = min(self._total, begin + min(self._code.chunk, self._most))

    def pause(self) -> None:
        """Gives out no more pieces until it goes on."""
        self._is_paused = True

    def go_on(self) -> None:
        """Gives out the pieces that are left."""
        self._is_paused = False

    def stop(self) -> None:
        """Gives out no more pieces."""
        self._total = 0

    def _learn(self, rows: int, seconds: float) -> None:
        if seconds < _BRIEF and rows == self._code.chunk:
            self._code.chunk = min(2 * self._code.chunk, 1 << 30)
        elif seconds > _LONG:
            self._code.chunk = max(1, self._code.chunk // 2)


def code_of(rule: RulePlan, store: Store, sharing: Sharing = Sharing.ALONE) -> PushedCode | NotPushed:
    """The code of a rule, not compiled yet, or why there is none."""
    found = push_rule(rule, StoreSurroundings(store), sharing)
    if isinstance(found, NotPushed):
        return found
    if sharing is Sharing.TOGETHER and (found.gives_ids or store.relations[rule.head].width > 2):
        return code_of(rule, store)
    return PushedCode(found, generated_kernel(found.source), sharing)


class StoreSurroundings:
    """What a generator asks, answered by a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def width(self, relation: str) -> int:
        return self._store.relations[relation].width

    def is_stored(self, relation: str) -> bool:
        return self._store.compact(relation) is None

    def keys(self, relation: str, column: int) -> int:
        return self._store.distinct(relation, (column,))

    def has_long_rows(self, relation: str, key: int) -> bool:
        """A word holds several ids of a key only if those lie close."""
        return 64 * self._store.relations[relation].size >= self.keys(relation, key) * self.keys(relation, 1 - key)

    def short_column(self, relation: str) -> int | None:
        return self._store.short_column(relation)
