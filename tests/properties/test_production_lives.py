"""Production rules in a session to which everything else happens too: facts, runs, late news, undo, what-ifs, errors.

After each step the session holds what the definitions say of the facts given, and what ordinary rules derive from them;
the history of each fact is that of the last run that stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from answers import checked_program
from production_answers import states_by_oracle, statuses_in
from production_oracle import Fact, State, derived
from production_strategies import ARITIES, VIEWS, ProductionSample, production_programs
from tidelog.analysis.checked import CheckedProgram
from tidelog.errors import OscillationError, UsageError
from tidelog.language.printer import print_rule
from tidelog.language.syntax_tree import Semantics
from tidelog.production.support import relations_needed
from tidelog.schema import Row
from tidelog.world.worlds import World

ACTIONS = ("change", "run", "undo", "late", "what if", "redo", "fails", "run", "elsewhere", "rule")
INSIDE = ("change", "run", "late", "rule")

facts = st.sampled_from([*ARITIES.items()]).flatmap(
    lambda named: st.tuples(st.just(named[0]), st.tuples(*[st.integers(1, 3)] * named[1]))
)


class Refused(Exception):
    """What somebody who hears of a firing or of a change raises."""


@dataclass(frozen=True)
class Known:
    """The rules, the facts given, the states of the last run; `revisable` while rules find the facts it left."""

    checked: CheckedProgram
    facts: State
    states: tuple[State, ...] = ()
    revisable: bool = False
    gone: tuple[str, ...] = ()


class Life:
    """What a session is to hold, with what undo and redo lead back to."""

    def __init__(self, checked: CheckedProgram, facts: State, data: st.DataObject) -> None:
        self.data = data
        self.known = Known(checked, facts)
        self.done: list[Known] = []
        self.undone: list[Known] = []

    def act(self, action: str, db: tidelog.Session) -> None:
        match action:
            case "undo" | "redo":
                there, other = (self.done, self.undone) if action == "undo" else (self.undone, self.done)
                if there:
                    getattr(db, action)()
                    other.append(self.known)
                    self.known = there.pop()
            case "what if":
                with db.whatif() as hypothetical:
                    inside = self.known
                    for each in self.data.draw(st.lists(st.sampled_from(INSIDE), max_size=3), "inside"):
                        inside = self.after(each, hypothetical, inside) or inside
                        self.check(hypothetical, inside)
            case "fails":
                self.fails(db)
            case "elsewhere":
                delta = db.apply(insert={"elsewhere": [(len(self.done),)]})
                assert len(delta) == 1
                self.go(self.known)
            case _:
                self.go(self.after(action, db, self.known))
        self.check(db, self.known)

    def go(self, known: Known | None) -> None:
        if known is not None:
            self.done.append(self.known)
            self.undone.clear()
            self.known = known

    def after(self, action: str, world: World, known: Known) -> Known | None:
        """What is known after a change, a run or late news of the start; None when that fails and changes nothing."""
        match action:
            case "change":
                come, go = (self.data.draw(st.lists(facts, max_size=3), name) for name in ("comes", "goes"))
                after = known.facts - {*go} | {*come}
                delta = world.apply(insert=by_relation(come), retract=by_relation(go))
                assert delta.counts.inserted == len(after - known.facts)
                assert delta.counts.retracted == len(known.facts - after)
                is_left = not concerned(known.checked, after ^ known.facts)
                return replace(known, facts=after, revisable=known.revisable and is_left)
            case "run":
                return unless_round(known, states_from(known, known.facts), world.run)
            case "rule":
                there = [print_rule(rule) for rule in known.checked.program.rules if rule.signs]
                comes = bool(known.gone) and (not there or self.data.draw(st.booleans(), "a rule comes back"))
                text = self.data.draw(st.sampled_from(known.gone if comes else there), "rule")
                assert not (world.add_rules(text) if comes else world.remove_rules(text))
                gone = tuple(each for each in known.gone if each != text) if comes else (*known.gone, text)
                return replace(known, checked=world.program, revisable=False, gone=gone)
            case "late":
                come, go = (self.data.draw(st.lists(facts, max_size=2), name) for name in ("comes late", "goes late"))
                news = {"insert": by_relation(come), "retract": by_relation(go)}
                if not known.revisable or not concerned(known.checked, [*come, *go]) >= {*come, *go}:
                    with pytest.raises(UsageError):
                        world.apply(**news, at=0)
                    return None
                others = known.facts - concerned(known.checked, known.facts)
                start = concerned(known.checked, known.states[0]) - {*go} | {*come} | others
                return unless_round(known, states_from(known, start), lambda: world.apply(**news, at=0))
        raise AssertionError(action)

    def fails(self, db: tidelog.Session) -> None:
        """A run whose first firing, or whose first change, somebody does not take."""
        states = states_from(self.known, self.known.facts)
        if isinstance(states, str) or states[-1] == states[0]:
            return
        try:
            if self.data.draw(st.booleans(), "the firing"):
                db.run(refuse)
            else:
                (name, _), *_ = states[-1] ^ states[0]
                with db.subscribe(name, refuse):
                    db.run()
        except Refused:
            return
        raise AssertionError("nobody was told")

    def check(self, world: World, known: Known) -> None:
        assert {(name, row) for name in ARITIES for row in world[name].rows()} == known.facts
        views = derived(known.checked, known.facts)
        for name in VIEWS:
            assert set(world[name].rows()) == views[name]
        asked = self.data.draw(facts, "whose history")
        records = world.history(*asked)
        assert [(each.cycle, each.is_there) for each in records[1:]] == (
            statuses_in([*known.states], asked) if known.states else []
        )


def unless_round(known: Known, states: tuple[State, ...] | str, run: Callable[[], object]) -> Known | None:
    """What is known after `run` has led to the last of `states`; None where rules go round, and it says so."""
    if isinstance(states, str):
        with pytest.raises(OscillationError):
            run()
        return None
    run()
    is_parallel = known.checked.semantics is not None and known.checked.semantics.semantics is Semantics.PARALLEL
    return replace(known, facts=states[-1], states=states, revisable=is_parallel)


def concerned(checked: CheckedProgram, some: Iterable[Fact]) -> State:
    """Those of `some` that production rules have to do with, by themselves or by what they read."""
    needed = relations_needed(checked)
    return frozenset(fact for fact in some if fact[0] in needed)


def states_from(known: Known, start: State) -> tuple[State, ...] | str:
    return states_by_oracle(known.checked, by_relation(sorted(start)))


def by_relation(some: list[Fact]) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for name, row in some:
        rows.setdefault(name, []).append(row)
    return rows


def refuse(_: object) -> None:
    raise Refused


@given(production_programs("set", "parallel", "parallel", "instance"), st.data())
def test_a_session_with_production_rules_holds_what_follows_whatever_it_went_through(
    sample: ProductionSample, data: st.DataObject
) -> None:
    checked = checked_program(sample.text + ".decl elsewhere(x: number)\n")
    start = frozenset((name, row) for name, rows in sample.facts.items() for row in rows)
    with tidelog.open(checked) as db:
        for name, rows in sample.facts.items():
            db.insert(name, rows)
        db.materialize()
        life = Life(checked, start, data)
        for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=9), "actions"):
            life.act(action, db)
