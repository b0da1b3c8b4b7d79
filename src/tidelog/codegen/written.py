"""Takes a rule, returns its code: written once for each way in which its surroundings have answered.

What a generator writes follows from the rule and from the answers that it gets. So what was written for another session
is good for this one, if the same questions have the same answers there. Nothing is asked for that which a generator
would not ask: it goes by the answers too, and asks the same until one is different.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from tidelog.codegen.atoms import Surroundings
from tidelog.codegen.operands import NotPushed, PushedRule
from tidelog.plan.nodes import RulePlan
from tidelog.plan.same import as_written

RULES_KEPT = 1 << 9
WAYS_KEPT = 4

Answer = TypeVar("Answer")

Generate: TypeAlias = Callable[..., PushedRule | NotPushed]
"""Takes a rule, its surroundings and what else decides about the code."""

Question: TypeAlias = tuple[str, tuple[Any, ...]]
"""What `Surroundings` are asked: the name of the method and what it is about."""


@dataclass(frozen=True, slots=True)
class Written:
    """The code of a rule, or why there is none, and the answers that led to it in the order of the questions."""

    code: PushedRule | NotPushed
    told: Mapping[Question, object]


def written(generate: Generate, rule: RulePlan, surroundings: Surroundings, *others: object) -> Written:
    """What `generate` gives for a rule, its surroundings and the `others`, or gave when it was told the same."""
    ways = _ways(generate, as_written(rule), others)
    for known in tuple(ways):
        if all(answer(surroundings, question) == told for question, told in known.told.items()):
            return known
    noting = Noting(surroundings)
    new = Written(generate(rule, noting, *others), noting.told)
    ways.append(new)
    return new


def answer(surroundings: Surroundings, question: Question) -> object:
    """What `surroundings` say to a question."""
    name, about = question
    return getattr(surroundings, name)(*about)


@lru_cache(RULES_KEPT)
def _ways(_generate: Generate, _rule: object, _others: tuple[object, ...]) -> deque[Written]:
    return deque(maxlen=WAYS_KEPT)


class Noting:
    """`Surroundings` that note what others answer."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self.told: dict[Question, object] = {}

    def width(self, relation: str) -> int:
        return self._noted(self._surroundings.width(relation), "width", relation)

    def is_stored(self, relation: str) -> bool:
        return self._noted(self._surroundings.is_stored(relation), "is_stored", relation)

    def is_rarer(self, one: tuple[str, int], other: tuple[str, int]) -> bool:
        return self._noted(self._surroundings.is_rarer(one, other), "is_rarer", one, other)

    def has_long_rows(self, relation: str, key: int) -> bool:
        return self._noted(self._surroundings.has_long_rows(relation, key), "has_long_rows", relation, key)

    def has_few_ids(self, relation: str, column: int) -> bool:
        return self._noted(self._surroundings.has_few_ids(relation, column), "has_few_ids", relation, column)

    def has_several(self, relation: str, key: int) -> bool:
        return self._noted(self._surroundings.has_several(relation, key), "has_several", relation, key)

    def short_column(self, relation: str) -> int | None:
        return self._noted(self._surroundings.short_column(relation), "short_column", relation)

    def numbers_pairs(self, relation: str) -> bool:
        return self._noted(self._surroundings.numbers_pairs(relation), "numbers_pairs", relation)

    def _noted(self, told: Answer, name: str, *about: Any) -> Answer:
        self.told[name, about] = told
        return told
