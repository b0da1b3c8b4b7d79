"""Late news leads to the states and chains of a run from the start that knew it, iteration by iteration."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from answers import checked_program
from production_answers import GOES_ROUND, rows_in, tuples
from production_oracle import Effect, Fact, State, after, satisfying
from production_strategies import ARITIES, ProductionSample, production_programs
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.errors import LimitError, OscillationError
from tidelog.facts.change import Change
from tidelog.facts.fact_set import FactSet
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.protocol import Limits
from tidelog.production.late.chain_columns import OPEN
from tidelog.production.late.incr_update import revise
from tidelog.production.late.late_run import LateRun

MOST = 30


@dataclass(frozen=True)
class News:
    """One operation that comes late, for the input or for a cycle, whichever `share` of the run that is."""

    sign: Sign
    fact: Fact
    share: float

    def cycle(self, cycles: int) -> int:
        return round(self.share * cycles)


facts = st.sampled_from([*ARITIES.items()]).flatmap(
    lambda named: st.tuples(st.just(named[0]), st.tuples(*[st.integers(1, 3)] * named[1]))
)
news_items = st.builds(News, st.sampled_from(Sign), facts, st.sampled_from([0.0, 0.0, 0.3, 0.7, 1.0]))


@settings(max_examples=60)
@given(production_programs("parallel"), st.lists(news_items, min_size=1, max_size=4))
def test_late_news_equals_a_run_that_knew_it(sample: ProductionSample, late: list[News]) -> None:
    checked = checked_program(sample.text)
    start = frozenset((name, row) for name, rows in sample.facts.items() for row in rows)
    operations: dict[int, set[tuple[Sign, Fact]]] = {}
    expected = run_with_operations(checked, start, operations)
    run = engine_run(checked, start)
    assert (run is None) == (expected is None)
    for news in late:
        if run is None or expected is None:
            return
        if news.fact[0] not in run.relations:
            continue
        before = expected[0][-1]
        cycle = news.cycle(run.cycles)
        start = with_news(start, operations, news, cycle)
        expected = run_with_operations(checked, start, operations)
        difference = revised(run, news, cycle)
        assert (difference == GOES_ROUND) == (expected is None)
        if expected is None or isinstance(difference, str):
            return
        states, asked = expected
        assert states_of(run, start) == states
        assert difference == (states[-1] - before, before - states[-1])
        assert asked_by_chains(run) == asked


@settings(max_examples=30)
@given(
    production_programs("parallel"), st.lists(news_items.filter(lambda news: news.share == 0.0), min_size=1, max_size=3)
)
def test_counts_after_late_news_are_those_of_a_run_from_the_start(sample: ProductionSample, late: list[News]) -> None:
    checked = checked_program(sample.text)
    start = frozenset((name, row) for name, rows in sample.facts.items() for row in rows)
    run = engine_run(checked, start)
    for news in late:
        if run is None or news.fact[0] not in run.relations:
            return
        start = with_news(start, {}, news, 0)
        again = engine_run(checked, start)
        if again is None:
            return
        assert revised(run, news, 0) != GOES_ROUND
        assert records_of(run) == records_of(again)
        assert run.course.derivations.tolist() == again.course.derivations.tolist()


def run_with_operations(
    checked: CheckedProgram, state: State, operations: dict[int, set[tuple[Sign, Fact]]]
) -> tuple[list[State], list[Effect]] | None:
    """All states, and what is asked for in each of them, when `operations` come in some iterations; None at a turn."""
    states = [state]
    asked: list[Effect] = []
    last = max(operations, default=-1)
    while len(states) <= MOST:
        effect = frozenset().union(*(each.effect for each in satisfying(checked, states[-1])))
        asked.append(effect | operations.get(len(asked), set()))
        new = after(states[-1], asked[-1])
        if new == states[-1] and len(asked) - 1 > last:
            return states, asked
        if new in states[last + 1 :]:
            return None
        states.append(new)
    return reject()


def with_news(start: State, operations: dict[int, set[tuple[Sign, Fact]]], news: News, cycle: int) -> State:
    """The first state with `news` of the input; `operations` takes others."""
    if cycle > 0:
        operations.setdefault(cycle - 1, set()).add((news.sign, news.fact))
        return start
    return start | {news.fact} if news.sign is Sign.INSERT else start - {news.fact}


def engine_run(checked: CheckedProgram, start: State) -> LateRun | None:
    rows = {name: [row for relation, row in start if relation == name] for name in ARITIES}
    tables = {name: to_table(some, checked.schemas[name]) for name, some in rows.items()}
    try:
        return LateRun(checked, LocalBackend(checked.schemas), tables, Limits(rounds=2 * MOST))
    except (OscillationError, LimitError):
        return None


def revised(run: LateRun, news: News, cycle: int) -> tuple[State, State] | str:
    """What came and what went at the end of the run."""
    relation, row = news.fact
    rows = {relation: to_table([row], run.schemas[relation])}
    change = Change(inserted=rows) if news.sign is Sign.INSERT else Change(retracted=rows)
    try:
        nets = revise(run, change, cycle)
    except OscillationError:
        return GOES_ROUND
    came = {name: run.backend.table(name, net.came) for name, net in nets.items()}
    went = {name: run.backend.table(name, net.went) for name, net in nets.items()}
    return rows_in(came), rows_in(went)


def states_of(run: LateRun, start: State) -> list[State]:
    """The states by what each iteration changed; the last must be the one at hand."""
    states = [start]
    for nets in run.course.nets():
        came = rows_in({name: run.backend.table(name, net.came) for name, net in nets.items()})
        went = rows_in({name: run.backend.table(name, net.went) for name, net in nets.items()})
        assert not came & states[-1]
        assert went <= states[-1]
        states.append((states[-1] - went) | came)
    held = rows_in({name: run.table(name) for name in run.relations})
    assert held == {fact for fact in states[-1] if fact[0] in run.relations}
    return states


def records_of(run: LateRun) -> dict[str, list[tuple[object, ...]]]:
    """All records of all chains: the fact, from when to when, how often it is added and deleted."""
    found = {}
    for name in run.relations:
        rows, _, records = run.chains(name).everything()
        facts = tuples(run.backend.table(name, FactSet(rows)))
        columns = zip(records.first, records.last, records.added, records.deleted, strict=True)
        found[name] = sorted(
            (*facts[fact], *map(int, numbers)) for fact, numbers in zip(records.facts, columns, strict=True)
        )
    return found


def asked_by_chains(run: LateRun) -> list[Effect]:
    """What is asked for in each iteration, where a count is above 0."""
    asked: list[set[tuple[Sign, Fact]]] = [set() for _ in range(run.cycles + 1)]
    for name, records in records_of(run).items():
        for *row, first, last, added, deleted in records:
            assert 0 <= first < last
            assert first <= run.cycles
            assert last <= run.cycles or last == OPEN
            assert added >= 0 <= deleted
            assert added or deleted
            for number in range(first, min(last, run.cycles + 1)):
                new = {(sign, (name, tuple(row))) for sign, count in zip(Sign, (added, deleted), strict=True) if count}
                assert not new & asked[number]
                asked[number] |= new
    return [frozenset(each) for each in asked]
