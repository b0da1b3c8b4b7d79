"""Rules run by generated code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.operands import AnyIndex, Interned, bind, indexes_of, settle_interned
from tidelog.backends.local.sinks import Sink, sink_for
from tidelog.backends.local.store import Store
from tidelog.codegen.ask_rule import ask_rule
from tidelog.codegen.operands import Asked, ChangedKeys, NotPushed, PushedRule, RowsOf, RunsOf
from tidelog.codegen.push_rule import Sharing, push_rule
from tidelog.codegen.written import Generate, Question, answer, written
from tidelog.facts.numbering import PairNumbers
from tidelog.kernels.generated import generated_kernel
from tidelog.kernels.jit import Kernel
from tidelog.plan.nodes import RulePlan, Version

_FEW = 1 << 14
_FEW_IDS = 1 << 15
_BRIEF, _LONG = 0.02, 0.1

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
    is_known: bool = False
    """Whether it has run, so that its fan-out was seen."""
    interned: Interned = field(default_factory=dict)
    _indexes: tuple[AnyIndex, ...] | None = None

    def catch_up(self, store: Store) -> None:
        """Brings the indexes up to date that it reads, one after the other."""
        for index in self.indexes(store):
            index.catch_up()

    def indexes(self, store: Store) -> tuple[AnyIndex, ...]:
        """The indexes that it reads, looked for once."""
        if self._indexes is None:
            self._indexes = indexes_of(self.rule.operands, store)
        return self._indexes

    @property
    def asks(self) -> bool:
        """Whether it says which facts have a derivation, and derives none."""
        return any(isinstance(operand, Asked) for operand in self.rule.operands)

    def starts_from_delta_of(self, relation: str) -> bool:
        """Whether it starts from the rows of a delta, each for itself."""
        start = self.rule.start
        return start.relation == relation and (
            isinstance(start, RunsOf) or (isinstance(start, RowsOf) and start.version is Version.DELTA)
        )

    def run(self, evaluation: Evaluation, in_batch: Vectorised) -> int:
        """Stages what the rule derives, whose operands are up to date; how many rows, known ones included."""
        return self.run_into(sink_for(evaluation.store.relations[evaluation.rule.head]), evaluation, in_batch)

    def run_into(self, sink: Sink, evaluation: Evaluation, in_batch: Vectorised) -> int:
        """As `run`, into another sink for rows of the head."""
        total = self.rows_to_start_from(evaluation)
        position = derived = 0
        while position < total:
            end = min(total, position + self.chunk)
            started = perf_counter()
            derived += self._push(position, end, sink, evaluation, in_batch)
            self.learn(end - position, perf_counter() - started)
            position = end
        return derived

    def rows_to_start_from(self, evaluation: Evaluation) -> int:
        """How many there are; where those with the same id are taken together, how many ids."""
        start = self.rule.start
        if isinstance(start, ChangedKeys):
            return int(evaluation.store.word_index(start.relation, start.key).delta.keys.size)
        return self.rows_to_read(evaluation)

    def rows_to_read(self, evaluation: Evaluation) -> int:
        """How many rows there are to start from, each for itself."""
        start = self.rule.start
        version = start.version if isinstance(start, RowsOf) else Version.DELTA
        return int(evaluation.read(start.relation, version).shape[0])

    def learn(self, rows: int, seconds: float) -> None:
        """Notes how long it took to push from so many rows: a call should cost nothing, and end soon enough to be
        watched."""
        if seconds < _BRIEF and rows == self.chunk:
            self.chunk = min(2 * self.chunk, 1 << 30)
        elif seconds > _LONG:
            self.chunk = max(1, self.chunk // 2)

    def _push(self, begin: int, end: int, sink: Sink, evaluation: Evaluation, in_batch: Vectorised) -> int:
        """Pushes what follows from some of the rows to start from; how many rows were derived."""
        store, position, derived = evaluation.store, begin, 0
        while position < end:
            arguments = bind(self.rule.operands, evaluation, sink.arrays(), self.interned)
            reached = int(self.kernel(*arguments, position, end))
            if 0 <= reached < end:
                sink.make_room()
            new = sink.settle()
            settle_interned(self.interned, store)
            derived += new
            evaluation.watch(evaluation.rule, new)
            if reached < 0:
                in_batch(~reached, ~reached + 1)
            position = reached if reached >= 0 else ~reached + 1
        return derived


def code_of(
    rule: RulePlan, surroundings: StoreSurroundings, sharing: Sharing = Sharing.ALONE
) -> PushedCode | NotPushed:
    """The code of a rule, not compiled yet, or why there is none."""
    found = surroundings.written(push_rule, rule, sharing)
    if isinstance(found, NotPushed):
        return found
    if sharing is Sharing.TOGETHER and (found.gives_ids or surroundings.width(rule.head) > 2):
        return code_of(rule, surroundings)
    return PushedCode(found, generated_kernel(found.source), sharing)


def asking_code_of(rule: RulePlan, surroundings: StoreSurroundings, _sharing: Sharing) -> PushedCode | NotPushed:
    """The code that answers a question, not compiled yet, or why there is none."""
    found = surroundings.written(ask_rule, rule)
    return found if isinstance(found, NotPushed) else PushedCode(found, generated_kernel(found.source), Sharing.ALONE)


class StoreSurroundings:
    """What a generator asks, answered by a store, and whether the answers would still be the same."""

    def __init__(self, store: Store, relations: Iterable[str]) -> None:
        self._store = store
        self._relations = [store.relations[name] for name in relations]
        self._told: dict[Question, object] = {}
        self._sizes = self._sizes_now()

    def written(self, generate: Generate, rule: RulePlan, *others: object) -> PushedRule | NotPushed:
        """What a generator writes for a rule, or has written when it was told the same."""
        found = written(generate, rule, self, *others)
        self._told |= found.told
        return found.code

    def are_as_told(self) -> bool:
        """Whether all questions would have the same answers now; asked again only when a relation is much larger."""
        sizes = self._sizes_now()
        if sizes == self._sizes:
            return True
        self._sizes = sizes
        return all(answer(self, question) == told for question, told in self._told.items())

    def _sizes_now(self) -> list[int]:
        return [each.stored.bit_length() for each in self._relations]

    def width(self, relation: str) -> int:
        return self._store.relations[relation].width

    def is_stored(self, relation: str) -> bool:
        return self._store.compact(relation) is None

    def is_rarer(self, one: tuple[str, int], other: tuple[str, int]) -> bool:
        return 2 * self._keys(*one) < self._keys(*other)

    def has_long_rows(self, relation: str, key: int) -> bool:
        """A word holds several ids of a key only if those lie close."""
        return 64 * self._store.relations[relation].size >= self._keys(relation, key) * self._keys(relation, 1 - key)

    def has_few_ids(self, relation: str, column: int) -> bool:
        return self._keys(relation, column) <= _FEW_IDS

    def has_several(self, relation: str, key: int) -> bool:
        return self._store.relations[relation].size >= 2 * self._keys(relation, key)

    def short_column(self, relation: str) -> int | None:
        return self._store.short_column(relation)

    def numbers_pairs(self, relation: str) -> bool:
        return isinstance(self._store.relations[relation].numbering, PairNumbers)

    def _keys(self, relation: str, column: int) -> int:
        return self._store.distinct(relation, (column,))
