"""Questions for a derivation of heads, answered by generated code: one pass over the marked facts for each rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidelog.backends.local.evaluation import Evaluation
from tidelog.backends.local.operands import bind, catch_up
from tidelog.backends.local.pushing import PushedCode
from tidelog.backends.local.store import Store
from tidelog.codegen.operands import RowNumbers, Spans
from tidelog.facts.fact_set import FactSet
from tidelog.facts.numbering import PairNumbers

_AT_ONCE = 1 << 14
"""Facts that are asked about in one call: it cannot be watched meanwhile."""


def unanswered(questions: Sequence[tuple[PushedCode, Evaluation]], relation: str, store: Store) -> FactSet:
    """The marked facts of `relation` for which none of the questions finds a derivation."""
    facts = store.marked[relation]
    if not questions:
        return facts
    is_aged = any(isinstance(operand, Spans) for code, _ in questions for operand in code.rule.operands)
    rows = store.ages_of_marked(relation) if is_aged else np.ascontiguousarray(facts.rows)
    answered = np.zeros(rows.shape[0], np.uint8)
    for code, evaluation in questions:
        catch_up(code.rule.operands, store)
        arguments = bind(code.rule.operands, evaluation, (rows, answered), code.interned)
        for begin in range(0, rows.shape[0], _AT_ONCE):
            end = min(rows.shape[0], begin + _AT_ONCE)
            code.kernel(*arguments, begin, end)
            evaluation.watch(evaluation.rule, end - begin)
    left = answered == 0
    if left.all():
        return facts
    arity = store.relations[relation].arity
    return FactSet(np.ascontiguousarray(rows[left, :arity])) if arity else facts.none()


def prepare(code: PushedCode, store: Store) -> None:
    """Makes ready what the code looks up."""
    catch_up(code.rule.operands, store)
    fits(code, store)


def fits(code: PushedCode, store: Store) -> bool:
    """Whether what finds the numbers of rows, made now if need be, has the form that the code is written for."""
    return all(
        isinstance(store.relations[operand.relation].numbering, PairNumbers) == operand.is_array
        for operand in code.rule.operands
        if isinstance(operand, RowNumbers)
    )
