"""Where duplicate checks pay, by given statistics."""

from __future__ import annotations

from answers import checked_program
from tidelog.codegen.application_graph import application_graph
from tidelog.codegen.graph_nodes import ApplicationGraph
from unit.codegen.counted_rows import Counts

TWO_STEPS = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl t(x: number)
.decl h(x: number)
.input a, b
.output h
t(y) :- a(_, y).
h(z) :- t(y), b(y, z).
"""


def graph_with(**known: tuple[int, int]) -> ApplicationGraph:
    return application_graph(checked_program(TWO_STEPS), statistics=Counts(known))


def test_many_duplicates_in_front_of_much_work_are_checked() -> None:
    graph = graph_with(a=(10_000, 100), b=(10_000, 100))
    assert graph.checks["t"].reasons == (
        "about 9,900 of 10,000 rows are expected to be duplicates, with 102.0 rows touched behind each",
    )


def test_few_duplicates_are_not_checked() -> None:
    assert "t" not in graph_with(a=(10_000, 9_990), b=(10_000, 100)).checks


def test_duplicates_in_front_of_little_work_are_not_checked() -> None:
    assert "t" not in graph_with(a=(10_000, 5_000), b=(10, 10)).checks


def test_nothing_is_checked_where_nothing_is_known() -> None:
    assert "t" not in graph_with().checks


def test_a_relation_may_lead_to_itself_from_one_fact_to_another_that_nobody_takes() -> None:
    """Found at random: the second rule stays because it may fail, and its fact is not one that it takes."""
    text = """
    .decl a(x: number, s: symbol)
    .decl p(x: number, s: symbol)
    .input a
    .output a
    p(x, s) :- a(x, s).
    p(6 / x, "") :- p(x, "3").
    """
    graph = application_graph(checked_program(text), statistics=Counts({"a": (1_000, 900)}))
    assert "p" not in graph.checks
