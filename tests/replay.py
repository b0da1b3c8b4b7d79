"""A story told to a session: after every change its rows are the oracle's, and its delta what has changed.

`expected_history` asks the oracle once; `replay` can then be tried with every variant of the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from answers import Failure, Rows, stored_relations
from change_strategies import Story, Variant
from explicit_facts import Explicit, Step, answer_after, explicit_start
from tidelog.analysis.checked import CheckedProgram
from tidelog.errors import EvaluationError
from tidelog.schema import Row
from tidelog.session import Session


@dataclass(frozen=True)
class Chapter:
    """A change, whether it can be made, and what is true afterwards: if it cannot, what was true before."""

    step: Step
    fails: bool
    explicit: Explicit
    rows: Rows


@dataclass(frozen=True)
class History:
    """What the oracle says of a story: the rows of a session just opened, and each chapter; the first gives facts."""

    checked: CheckedProgram
    start: Rows
    chapters: tuple[Chapter, ...]

    @property
    def end(self) -> Rows:
        return self.chapters[-1].rows


def expected_history(story: Story) -> History | None:
    """What each change of `story` must lead to; None when the program cannot be opened, so there is no story."""
    return history_of(story.checked(), story.sample.facts, story.steps)


def sessions_after_each_change(story: Story, variant: Variant) -> Iterator[Session]:
    """The session to which `story` is told, after each of its changes; nothing when there is no story."""
    history = expected_history(story)
    if history is None:
        return
    with variant.open(history.checked) as session:
        before = history.start
        for chapter in history.chapters:
            apply_step(chapter, before, session)
            before = chapter.rows
            yield session


def history_of(checked: CheckedProgram, facts: Mapping[str, list[Row]], steps: Iterable[Step]) -> History | None:
    """What giving `facts` to the program and then making each change must lead to."""
    try:
        explicit = explicit_start(checked, {})
    except EvaluationError:
        return None
    start = answer_after(checked, explicit)
    if isinstance(start, Failure):
        return None
    rows, chapters = start, []
    for step in (Step(insert=facts), *steps):
        then = step.after(explicit, checked)
        answer = rows if then == explicit else answer_after(checked, then)
        fails = isinstance(answer, Failure)
        if not isinstance(answer, Failure):
            explicit, rows = then, answer
        chapters.append(Chapter(step, fails, explicit, rows))
    return History(checked, start, tuple(chapters))


def replay(history: History, session: Session) -> None:
    """Applies every change of `history` to `session`; AssertionError where the session and the oracle differ."""
    before = history.start
    assert rows_of(session) == before
    for chapter in history.chapters:
        apply_step(chapter, before, session)
        before = chapter.rows


def apply_step(chapter: Chapter, before: Rows, session: Session) -> None:
    """Applies one change to a session with the rows `before`, and compares the rows and the delta afterwards."""
    if chapter.fails:
        refuse(chapter.step, session)
    else:
        delta = session.apply(insert=chapter.step.insert, retract=chapter.step.retract)
        for name, rows in chapter.rows.items():
            assert plain(delta[name].appeared.rows(), name) == rows - before[name], f"appeared in {name}"
            assert plain(delta[name].vanished.rows(), name) == before[name] - rows, f"vanished from {name}"
    assert rows_of(session) == chapter.rows


def refuse(step: Step, session: Session) -> None:
    """Applies a change by which an expression has no value."""
    try:
        session.apply(insert=step.insert, retract=step.retract)
    except EvaluationError:
        return
    raise AssertionError("the oracle finds an expression without a value, the engine does not")


def rows_of(session: Session) -> Rows:
    """The rows of every relation that has rows of its own; none of them comes twice."""
    return {name: plain(session[name].rows(), name) for name in stored_relations(session.program.program)}


def plain(rows: list[Row], name: str) -> set[Row]:
    assert len(rows) == len(set(rows)), f"{name} has a row twice"
    return set(rows)
