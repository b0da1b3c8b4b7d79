"""What holds for the graph of every program: run row by row it gives the oracle's rows, and it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from answers import Failure, by_oracle, checked_program
from fragments import CHANGES
from oracle import World, consequences
from strategies import Sample, programs
from tidelog.codegen.application_graph import application_graph
from tidelog.codegen.graph_nodes import ApplicationGraph
from tidelog.codegen.rule_application import Columns
from tidelog.language.functions import NoValue
from unit.codegen.counted_rows import Counts
from unit.codegen.graph_runner import run_graph

MOST_ROWS = 60
counts = st.tuples(st.sampled_from([1000, 10, 0]), st.sampled_from([1, 10, 900]))
statistics = st.none() | st.fixed_dictionaries(dict.fromkeys("abcpqrs", counts)).map(Counts)
columns = st.sampled_from([Columns.OF_RELATION, Columns.OF_RULES])


@settings(max_examples=80)
@given(programs(CHANGES), st.data(), columns, st.sampled_from([16, 2, 1]), statistics)
def test_the_graph_run_row_by_row_gives_the_rows_of_the_oracle(
    sample: Sample, data: st.DataObject, owner: Columns, most_facts: int, known: Counts | None
) -> None:
    checked = checked_program(sample.text)
    expected = by_oracle(checked, sample.facts)
    assume(not isinstance(expected, Failure) and sum(map(len, expected.values())) < MOST_ROWS)
    assert isinstance(expected, dict)
    wanted = data.draw(st.sets(st.sampled_from(sorted(expected)), min_size=1))
    graph = graph_of(sample, frozenset(wanted), owner, most_facts, known)
    with deep_recursion():
        try:
            rows = run_graph(graph, sample.facts)
        except NoValue:
            assume(False)
    assert {name: rows.get(name, set()) for name in wanted} == {name: expected[name] for name in wanted}


@settings(max_examples=60)
@given(programs(CHANGES), st.data(), columns)
def test_every_rule_that_derives_a_wanted_row_has_a_node(sample: Sample, data: st.DataObject, owner: Columns) -> None:
    checked = checked_program(sample.text)
    assume("inline" not in sample.text)  # rules for inlined relations are in the rules that read them
    rows = by_oracle(checked, sample.facts)
    assume(not isinstance(rows, Failure))
    assert isinstance(rows, dict)
    wanted = data.draw(st.sets(st.sampled_from(sorted(rows)), min_size=1))
    graph = graph_of(sample, frozenset(wanted), owner, 16)
    applied = {node.rule.plan.id for node in graph.rules if not node.removed}
    derived = {node.fact.relation for node in graph.facts}
    for rule in checked.program.rules:
        for head in rule.heads:
            if head.relation in derived & wanted and any(True for _ in consequences(head, rule, World(rows))):
                assert rule.id in applied, rule


@settings(max_examples=80)
@given(programs(), st.data(), columns, st.sampled_from([16, 3, 1]))
def test_every_cycle_has_a_check_and_no_relation_too_many_facts(
    sample: Sample, data: st.DataObject, owner: Columns, most_facts: int
) -> None:
    checked = checked_program(sample.text)
    wanted = data.draw(st.sets(st.sampled_from(sorted(checked.schemas))))
    graph = graph_of(sample, frozenset(wanted), owner, most_facts)
    assert all(cycle.checked for cycle in graph.cycles)
    assert not leads_back(graph)
    counts: dict[str, int] = {}
    for node in graph.facts:
        counts[node.fact.relation] = counts.get(node.fact.relation, 0) + 1
    assert max(counts.values(), default=0) <= most_facts


def graph_of(
    sample: Sample, wanted: frozenset[str], owner: Columns, most_facts: int, known: Counts | None = None
) -> ApplicationGraph:
    return application_graph(
        checked_program(sample.text),
        wanted=wanted,
        given=frozenset(sample.facts),
        statistics=known,
        columns=owner,
        most_facts=most_facts,
    )


def leads_back(graph: ApplicationGraph) -> bool:
    """Whether a row can come back to where it started without meeting a duplicate check."""
    following = {
        node.number: {graph.rules[number].result for number in node.taken_by if not graph.rules[number].removed}
        for node in graph.facts
        if not node.removed and node.fact.relation not in graph.checks
    }
    while ends := [number for number, after in following.items() if not after & following.keys()]:
        for number in ends:
            del following[number]
    return bool(following)


@contextmanager
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
