"""INCR_UPDATE of stratified programs (section 5): an iteration is a pair of stratum and round, and news goes from one
stratum to the next. It leads to what rules without signs derive, and to the states of a run from the start."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from answers import checked_program
from production_answers import rows_in
from production_oracle import State, after, satisfying
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.facts.change import Change
from tidelog.maintain.protocol import Limits
from tidelog.production.late.incr_update import revise
from tidelog.production.late.late_run import LateRun
from tidelog.schema import Row

DECLARATIONS = """\
.decl node(x: number)
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl apart(x: number, y: number)
.decl alone(x: number)
"""
STRATA = (
    "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
    "apart(x, y) :- node(x), node(y), !path(x, y). apart(x, y) :- apart(y, x), !path(x, y).",
    "alone(x) :- node(x), !apart(x, x), edge(x, x). alone(y) :- alone(x), edge(x, y), !apart(y, x).",
)
RELATIONS = {"node": 1, "edge": 2, "path": 2, "apart": 2, "alone": 1}

nodes = st.integers(1, 4)
facts = st.one_of(st.tuples(st.just("node"), st.tuples(nodes)), st.tuples(st.just("edge"), st.tuples(nodes, nodes)))


@settings(max_examples=25)
@given(st.sets(facts, max_size=10), st.lists(st.sets(facts, min_size=1, max_size=3), max_size=3))
def test_news_that_goes_from_stratum_to_stratum_leads_where_rules_without_signs_lead(
    start: set[tuple[str, Row]], news: list[set[tuple[str, Row]]]
) -> None:
    programs = [checked_program(f".production parallel\n{DECLARATIONS}{signed(rules)}") for rules in STRATA]
    state = frozenset(start)
    runs: list[LateRun] = []
    for checked in programs:
        runs.append(LateRun(checked, LocalBackend(checked.schemas), tables(state, checked.schemas), Limits()))
        state = state_after(state, runs[-1])
    db = tidelog.open(DECLARATIONS + "\n".join(STRATA))
    for relation, row in start:
        db.insert(relation, [row])
    for flipped in news:
        came, went = flipped - start, flipped & start
        start ^= flipped
        db.apply(insert=by_relation(came), retract=by_relation(went))
        states = [frozenset(start)]
        for run, checked in zip(runs, programs, strict=True):
            schemas = checked.schemas
            change = Change(
                *(
                    {
                        name: to_table(rows, schemas[name])
                        for name, rows in by_relation(some).items()
                        if name in run.relations
                    }
                    for some in (came, went)
                )
            )
            nets = revise(run, change, 0)
            came = came | rows_in({name: run.backend.table(name, net.came) for name, net in nets.items()})
            went = went | rows_in({name: run.backend.table(name, net.went) for name, net in nets.items()})
            rounds = rounds_from(checked, states[-1])
            assert states_by_chains(run, states[-1]) == rounds
            states.append(rounds[-1])
        assert {(name, tuple(row)) for name in RELATIONS for row in db[name]} == states[-1]


def signed(rules: str) -> str:
    return "".join(f"+{rule.strip()}.\n" for rule in rules.split(".") if rule.strip())


def tables(state: State, schemas: object) -> dict[str, object]:
    return {name: to_table([row for relation, row in state if relation == name], schemas[name]) for name in RELATIONS}


def state_after(state: State, run: LateRun) -> State:
    held = rows_in({name: run.table(name) for name in run.relations})
    return frozenset(fact for fact in state if fact[0] not in run.relations) | held


def by_relation(some: set[tuple[str, Row]]) -> dict[str, list[Row]]:
    return {name: [row for relation, row in some if relation == name] for name in {name for name, _ in some}}


def rounds_from(checked: object, state: State) -> list[State]:
    """The states of one stratum, round by round, as the definition says."""
    states = [state]
    while True:
        effect = frozenset().union(*(each.effect for each in satisfying(checked, states[-1])))
        new = after(states[-1], effect)
        if new == states[-1]:
            return states
        states.append(new)


def states_by_chains(run: LateRun, state: State) -> list[State]:
    states = [state]
    for nets in run.course.nets():
        came = rows_in({name: run.backend.table(name, net.came) for name, net in nets.items()})
        went = rows_in({name: run.backend.table(name, net.went) for name, net in nets.items()})
        states.append((states[-1] - went) | came)
    return states
