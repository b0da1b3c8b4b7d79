"""What a program answers, by the oracle and by the engine: takes text and facts, returns rows or the error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any
from unittest import mock

from hypothesis import currently_in_test_context, reject

import tidelog
from oracle import TooMuchWork, evaluate
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local import team
from tidelog.errors import EvaluationError
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import Program
from tidelog.schema import Row

Facts = Mapping[str, Iterable[Row]]

PATIENCE = 200_000
"""Assignments that the oracle tries for a random program: about a second."""


@dataclass(frozen=True)
class Failure:
    """Evaluation ended with an error. Which of several is found first may differ, so all failures are equal."""


Rows = dict[str, set[Row]]
Answer = Rows | Failure


def checked_program(text: str) -> CheckedProgram:
    """The program of that text, which must be right."""
    return check(parse(text))


def by_oracle(checked: CheckedProgram, facts: Facts) -> Answer:
    """The oracle's rows of every relation that is not inlined. A random program that takes it too long is dropped."""
    try:
        rows = evaluate(checked, facts, PATIENCE if currently_in_test_context() else inf)
    except EvaluationError:
        return Failure()
    except TooMuchWork:
        reject()
    return {name: rows[name] for name in stored_relations(checked.program)}


def by_engine(checked: CheckedProgram, facts: Facts, **options: Any) -> Answer:
    """The engine's rows of every relation that is not inlined; none of them comes twice.

    Threads share the work even where there is so little of it that one would do it alone.
    """
    with mock.patch.multiple(team, _WORTH_SHARING=0, _TRIAL=0, _PIECE=2), tidelog.open(checked, **options) as db:
        for name, rows in facts.items():
            db.insert(name, list(rows))
        try:
            found = {name: db[name].rows() for name in stored_relations(checked.program)}
        except EvaluationError:
            return Failure()
    for name, rows in found.items():
        assert len(rows) == len(set(rows)), f"{name} has a row twice"
    return {name: set(rows) for name, rows in found.items()}


def stored_relations(program: Program) -> list[str]:
    """The relations that have rows of their own."""
    return [declaration.name for declaration in program.relations if "inline" not in declaration.qualifiers]
