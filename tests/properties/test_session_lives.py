"""Everything that a session can do, one after the other: after each step it holds what the oracle derives.

Changes of facts, rules that go and come, undo and redo across both, what-ifs in what-ifs, errors in between, questions
before and after anything is derived. Who subscribes or watches hears of what is different after each step, and of
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import Failure, Rows
from change_strategies import CLOSURES, PROGRAMS, VARIANTS, Story, Variant, pairs, stories
from explicit_facts import Explicit, Step, answer_after, explicit_start
from fragments import Relation
from questions import questions
from replay import plain, refuse, rows_of
from tidelog.analysis.checked import CheckedProgram
from tidelog.errors import EvaluationError, UsageError
from tidelog.language.printer import print_rule
from tidelog.schema import Row
from tidelog.session import Session
from tidelog.world.delta import RelationDelta
from tidelog.world.watches import Watch, WatchMatch
from tidelog.world.worlds import World

ACTIONS = ("change", "change", "ask", "rule", "undo", "what if", "watch", "rule", "redo", "undo", "refuse", "unwatch")


class Refused(Exception):
    """What a subscriber or the block of a what-if raises."""


@dataclass(frozen=True)
class State:
    """What a world is to hold. `gone` has the rules that were taken away."""

    program: CheckedProgram
    explicit: Explicit
    rows: Rows
    gone: tuple[str, ...] = ()


@dataclass(frozen=True)
class Watched:
    """A watch of the rows of `relation` whose value in `column` begins a row of `other`, or, `negated`, begins none."""

    relation: Relation
    column: int
    other: Relation | None
    negated: bool

    @property
    def text(self) -> str:
        names = [f"x{at}" for at in range(len(self.relation.kinds))]
        body = f"{self.relation.name}({', '.join(names)})"
        if self.other is not None:
            others = [names[self.column], *"_" * (len(self.other.kinds) - 1)]
            body += f", {'!' * self.negated}{self.other.name}({', '.join(others)})"
        return f"seen({', '.join(names)}) :- {body}."

    def holds(self, rows: Rows) -> set[Row]:
        """The rows of its head, by definition."""
        if self.other is None:
            return rows[self.relation.name]
        begun = {row[0] for row in rows[self.other.name]}
        return {row for row in rows[self.relation.name] if (row[self.column] in begun) is not self.negated}


@dataclass
class Ear:
    """A watch and what it was told since somebody looked."""

    watched: Watched
    watch: Watch | None = None
    told: list[WatchMatch] = field(default_factory=list)

    def check(self, before: Rows, after: Rows) -> None:
        told = [*self.told]
        self.told.clear()
        was, now = self.watched.holds(before), self.watched.holds(after)
        assert sorted(map(repr, (each.row for each in told if each.begins))) == sorted(map(repr, now - was))
        assert sorted(map(repr, (each.row for each in told if not each.begins))) == sorted(map(repr, was - now))


class Life:
    """A session, the states that undo and redo go through, and who listens."""

    def __init__(self, story: Story, session: Session, state: State, data: st.DataObject) -> None:
        self.story, self.session, self.state, self.data = story, session, state, data
        self.relations = tuple(one for one in story.sample.relations if one.has_rows)
        self.done: list[State] = []
        self.undone: list[State] = []
        self.ears: list[Ear] = []
        self.copy: Rows | None = None

    def subscribe(self) -> None:
        """From now on `copy` follows what subscribers are told."""
        self.copy = {name: set(rows) for name, rows in self.state.rows.items()}
        for name in self.copy:
            self.session.subscribe(name, self._follow(name))

    def give(self, step: Step) -> None:
        """`step` relation by relation, as facts are given before anything is derived, if nothing asked for all."""
        sides = [(Step(retract={name: rows}), self.session.retract) for name, rows in step.retract.items()]
        sides += [(Step(insert={name: rows}), self.session.insert) for name, rows in step.insert.items()]
        for part, give in sides:
            explicit = part.after(self.state.explicit, self.state.program)
            rows = answer_after(self.state.program, explicit)
            if not isinstance(rows, Failure):
                is_change = self.session._model.is_materialized
                for name, given_rows in (part.retract or part.insert).items():
                    assert give(name, given_rows) == len(self.state.explicit[name] ^ explicit[name])
                after = replace(self.state, explicit=explicit, rows=rows)
                if is_change:
                    self._go(after)
                self.state = after

    def act(self, action: str, steps: Iterator[Step]) -> None:
        """One step, after which everything is compared."""
        before = self.state
        match action:
            case "change":
                self._go(self.changed(self.session, self.state, next(steps)))
            case "rule":
                self._go(self.other_rules(self.session, self.state))
            case "undo":
                self._back(self.done, self.undone, self.session.undo)
            case "redo":
                self._back(self.undone, self.done, self.session.redo)
            case "what if":
                self.whatif(self.session, self.state, steps, depth=0)
            case "refuse":
                self._refused(next(steps))
            case "ask":
                self.ask(self.session, self.state)
            case "watch":
                self._watch()
            case "unwatch" if self.ears:
                ear = self.ears.pop(self.data.draw(st.integers(0, len(self.ears) - 1), "which watch"))
                assert ear.watch is not None
                ear.watch.cancel()
        assert rows_of(self.session) == self.state.rows
        for ear in self.ears:
            ear.check(before.rows, self.state.rows)
        assert self.copy is None or self.copy == self.state.rows

    def ask(self, world: World, state: State) -> None:
        """A question has the answers that it has among all rows."""
        asked = self.data.draw(questions(self.relations), "asked")
        found = world.query(asked.text).rows()
        assert len(found) == len(set(found))
        assert set(found) == asked.answers(state.rows[asked.relation]), asked.text

    def changed(self, world: World, state: State, step: Step) -> State | None:
        """The state after `step`; None where an expression has no value."""
        explicit = step.after(state.explicit, state.program)
        rows = answer_after(state.program, explicit)
        if isinstance(rows, Failure):
            refuse(step, world)
            return None
        delta = world.apply(insert=step.insert, retract=step.retract)
        check_delta(delta, state.rows, rows)
        return replace(state, explicit=explicit, rows=rows)

    def other_rules(self, world: World, state: State) -> State | None:
        """The state after a rule went or came back; None where an expression has no value by the other rules."""
        there = [print_rule(rule) for rule in state.program.program.rules if rule.body]
        comes = bool(state.gone) and (not there or self.data.draw(st.booleans(), "a rule comes back"))
        if not comes and not there:
            return None
        text = self.data.draw(st.sampled_from(state.gone if comes else there), "rule")
        try:
            delta = world.add_rules(text) if comes else world.remove_rules(text)
        except EvaluationError:
            return None
        rows = answer_after(world.program, state.explicit)
        assert not isinstance(rows, Failure)
        check_delta(delta, state.rows, rows)
        gone = tuple(each for each in state.gone if each != text) if comes else (*state.gone, text)
        return State(world.program, state.explicit, rows, gone)

    def whatif(self, world: World, state: State, steps: Iterator[Step], depth: int) -> None:
        """A hypothesis, in which more may happen; `world` is as it was afterwards."""
        step = next(steps)
        explicit = step.after(state.explicit, state.program)
        rows = answer_after(state.program, explicit)
        if isinstance(rows, Failure):
            return
        inside: State | None = replace(state, explicit=explicit, rows=rows)
        with raised() as raise_it, world.whatif(insert=step.insert, retract=step.retract) as hypothetical:
            for action in self.data.draw(st.lists(st.sampled_from(ACTIONS[:6]), max_size=3), "inside"):
                assert inside is not None
                match action:
                    case "change":
                        inside = self.changed(hypothetical, inside, next(steps)) or inside
                    case "rule":
                        inside = self.other_rules(hypothetical, inside) or inside
                    case "what if" if depth < 2:
                        self.whatif(hypothetical, inside, steps, depth + 1)
                    case "ask":
                        self.ask(hypothetical, inside)
                assert rows_of(hypothetical) == inside.rows
            if self.data.draw(st.integers(0, 3), "ends with an error") == 3:
                raise_it()
        check_delta(hypothetical.delta, state.rows, inside.rows)
        assert rows_of(world) == state.rows

    def _go(self, state: State | None) -> None:
        if state is not None:
            self.done.append(self.state)
            self.undone.clear()
            self.state = state

    def _back(self, there: list[State], other: list[State], go: Callable[[], object]) -> None:
        if not there:
            with pytest.raises(UsageError, match="nothing to"):
                go()
            return
        state = there.pop()
        check_delta(go(), self.state.rows, state.rows)
        other.append(self.state)
        self.state = state

    def _refused(self, step: Step) -> None:
        """A subscriber that comes last raises: everyone else is told that nothing happened."""
        rows = answer_after(self.state.program, step.after(self.state.explicit, self.state.program))
        changed = [] if isinstance(rows, Failure) else [name for name in rows if rows[name] != self.state.rows[name]]
        if changed:
            with (
                self.session.subscribe(self.data.draw(st.sampled_from(changed), "refused"), refused),
                pytest.raises(Refused),
            ):
                self.session.apply(insert=step.insert, retract=step.retract)

    def _watch(self) -> None:
        relation = self.data.draw(st.sampled_from(self.relations), "watched")
        column = self.data.draw(st.integers(0, len(relation.kinds) - 1), "joined by")
        others = [None, *(one for one in self.relations if one.kinds[0] is relation.kinds[column])]
        ear = Ear(Watched(relation, column, self.data.draw(st.sampled_from(others)), self.data.draw(st.booleans())))
        ear.watch = self.session.watch(ear.watched.text, on_match=ear.told.append)
        self.ears.append(ear)

    def _follow(self, name: str) -> Callable[[RelationDelta], None]:
        def follow(delta: RelationDelta) -> None:
            assert self.copy is not None
            assert self.copy[name] >= set(delta.vanished)
            assert not self.copy[name] & set(delta.appeared)
            self.copy[name] = (self.copy[name] - set(delta.vanished)) | set(delta.appeared)

        return follow


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=pairs(share=2))
@given(story=stories(PROGRAMS | CLOSURES), data=st.data())
def test_a_session_holds_what_follows_whatever_it_went_through(
    variant: Variant, story: Story, data: st.DataObject
) -> None:
    checked = story.checked()
    explicit = Step(insert=story.sample.facts).after(explicit_start(checked, {}), checked)
    rows = answer_after(checked, explicit)
    if isinstance(rows, Failure):
        return
    with variant.open(checked) as session:
        for name, given_rows in story.sample.facts.items():
            session.insert(name, given_rows)
        life = Life(story, session, State(checked, explicit, rows), data)
        steps = again_and_again(story.steps)
        for _ in range(data.draw(st.integers(0, 3), "asked before anything is derived")):
            life.ask(session, life.state)
            life.give(next(steps))
        if data.draw(st.booleans(), "subscribes"):
            life.subscribe()
        for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=14), "actions"):
            life.act(action, steps)


def again_and_again(steps: tuple[Step, ...]) -> Iterator[Step]:
    while True:
        yield from steps


def check_delta(delta: object, before: Rows, after: Rows) -> None:
    for name, rows in after.items():
        assert plain(delta[name].appeared.rows(), name) == rows - before[name], f"appeared in {name}"
        assert plain(delta[name].vanished.rows(), name) == before[name] - rows, f"vanished from {name}"


@contextmanager
def raised() -> Iterator[Callable[[], None]]:
    """A block that may be left by calling what it gives."""
    with suppress(Refused):
        yield lambda: refused(None)


def refused(_delta: object) -> None:
    raise Refused
