"""Late news for rules that only join, followed from fact to fact, leads to the chains of a run that knew it."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from answers import checked_program
from production_answers import GOES_ROUND
from production_oracle import State
from properties.test_late_news import MOST, News, records_of, revised, with_news
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.errors import LimitError, OscillationError
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.protocol import Limits
from tidelog.production.late import timelines
from tidelog.production.late.late_run import LateRun

DECLARATIONS = """\
.production parallel
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl stop(x: number)
"""
BY_ONE_COLUMN = (
    "+path(x, y) :- edge(x, y).",
    "+path(y, x) :- edge(x, y).",
    "+path(x, z) :- path(x, y), edge(y, z).",
    "+path(x, z) :- path(x, y), path(y, z).",
    "+path(x, z) :- edge(x, y), edge(y, z).",
    "-path(x, y), +stop(y) :- path(x, y), !stop(y).",
)
BY_MORE_OR_NONE = (
    "+path(x, u) :- path(x, y), edge(z, u).",
    "-edge(x, y) :- path(x, y), path(y, x).",
    "+stop(y) :- path(x, y), stop(x).",
    "+edge(y, x) :- path(x, y), !edge(x, y).",
)
pairs = st.tuples(st.integers(1, 8), st.integers(1, 8))
roads = st.integers(2, 40).map(lambda size: [(x, x + 1) for x in range(10, 10 + size)])
inputs = st.tuples(st.lists(pairs, max_size=12), roads).map(lambda some: {*some[0], *some[1]})
news_of_edges = st.builds(News, st.sampled_from(Sign), st.tuples(st.just("edge"), pairs), st.just(0.0))
news_of_roads = st.builds(
    News,
    st.sampled_from(Sign),
    st.tuples(st.just("edge"), st.integers(9, 50).map(lambda x: (x, x + 1))),
    st.just(0.0),
)
late_news = st.lists(news_of_edges | news_of_roads, min_size=1, max_size=4)


@settings(max_examples=60)
@given(st.sets(st.sampled_from(BY_ONE_COLUMN + BY_MORE_OR_NONE), min_size=1, max_size=4), inputs, late_news)
def test_what_is_followed_by_joins_equals_a_run_that_knew_it(
    rules: set[str], edges: set[tuple[int, int]], late: list[News]
) -> None:
    checked = checked_program(DECLARATIONS + "\n".join(sorted(rules)))
    start = frozenset(("edge", edge) for edge in edges)
    run = run_of(checked, start)
    for news in late:
        if run is None or news.fact[0] not in run.relations:
            return
        start = with_news(start, {}, news, 0)
        again = run_of(checked, start)
        with patch.object(timelines, "follow_join", wraps=timelines.follow_join) as followed:
            difference = revised(run, news, 0)
        assert (difference == GOES_ROUND) == (again is None)
        if again is None:
            return
        if rules.issubset(BY_ONE_COLUMN) and difference != (frozenset(), frozenset()):
            assert followed.called
        assert records_of(run) == records_of(again)
        assert run.course.derivations.tolist() == again.course.derivations.tolist()


def run_of(checked: CheckedProgram, start: State) -> LateRun | None:
    """None if it goes round or goes on for too long."""
    rows = {"edge": [row for _, row in start], "path": [], "stop": []}
    tables = {name: to_table(some, checked.schemas[name]) for name, some in rows.items()}
    try:
        return LateRun(checked, LocalBackend(checked.schemas), tables, Limits(rounds=2 * MOST))
    except (OscillationError, LimitError):
        return None
