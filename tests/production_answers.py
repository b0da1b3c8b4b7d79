"""What production rules do, by the oracle and by the engine: takes a program and facts, returns rows or the error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import reject

import tidelog
from production_oracle import Fact, State, TooLong, run
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.errors import OscillationError
from tidelog.facts.chain import Chains
from tidelog.plan.retention.network import Retention
from tidelog.production import Firing, run_rules
from tidelog.schema import Row

Facts = Mapping[str, Iterable[Row]]

GOES_ROUND = "goes round"


def states_by_oracle(checked: CheckedProgram, facts: Facts) -> tuple[State, ...] | str:
    """The facts after each cycle; GOES_ROUND when they come back. An example that goes on and on is dropped."""
    try:
        cycles = run(checked, facts)
    except TooLong:
        reject()
    return GOES_ROUND if cycles.turns else cycles.states


def states_by_engine(
    checked: CheckedProgram, facts: Facts, retention: Retention = Retention.NONE
) -> tuple[State, ...] | str:
    """The same, from the firings that the engine tells of; they must add up to what it says at the end."""
    tables = {name: to_table(list(rows), checked.schemas[name]) for name, rows in facts.items()}
    state = frozenset((name, tuple(row)) for name, rows in facts.items() for row in rows)
    states = [state]

    def hear(firing: Firing) -> None:
        states.append((states[-1] - rows_in(firing.went)) | rows_in(firing.came))

    try:
        result = run_rules(checked, LocalBackend(checked.schemas), tables, retention=retention, on_firing=hear)
    except OscillationError:
        return GOES_ROUND
    assert states[-1] == (state - rows_in(result.went)) | rows_in(result.came)
    assert result.cycles == len(states) - 1
    for fact in frozenset[Fact]().union(*states):
        assert statuses(result.read_chains(), fact, checked) == statuses_in(states, fact)
    return tuple(states)


def last_state_by_session(checked: CheckedProgram, facts: Facts) -> State | str:
    """The facts at the end, as a session has them, which gives its run facts and takes what came of them as ids.

    They are the same after the run was taken back and made again.
    """
    with tidelog.open(checked) as db:
        for name, rows in facts.items():
            db.insert(name, list(rows))

        def state() -> State:
            return frozenset((name, row) for name in facts for row in db[name])

        before = state()
        try:
            db.run()
        except OscillationError:
            assert state() == before
            return GOES_ROUND
        after = state()
        db.undo()
        assert state() == before
        db.redo()
        assert state() == after
        return after


def statuses(chains: Chains, fact: Fact, checked: CheckedProgram) -> list[tuple[int, bool]]:
    """The cycles after which the fact was there or not there any more, by its chain."""
    relation, row = fact
    records = chains.chain(relation, to_table([row], checked.schemas[relation]))
    return [(record.cycle, record.is_there) for record in records[1:]]


def statuses_in(states: list[State], fact: Fact) -> list[tuple[int, bool]]:
    """The same, by looking at all states."""
    there = [fact in state for state in states]
    return [(cycle, there[cycle]) for cycle in range(1, len(there)) if there[cycle] is not there[cycle - 1]]


def rows_in(tables: Mapping[str, object]) -> State:
    return frozenset((name, row) for name, table in tables.items() for row in tuples(table))


def tuples(table: object) -> list[Row]:
    if not table.num_columns:
        return [()] * table.num_rows
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
