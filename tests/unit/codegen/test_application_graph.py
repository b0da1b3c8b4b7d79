"""Rule application graphs of small programs: the examples of the Push paper, what is stored, what is generalised."""

from __future__ import annotations

import pytest

from answers import checked_program
from case_files import Case, all_cases
from oracle import evaluate
from tidelog.codegen.application_graph import application_graph
from tidelog.codegen.graph_nodes import ApplicationGraph
from tidelog.codegen.rule_application import Columns
from tidelog.language.functions import NoValue
from tidelog.plan.lower import fact_of
from unit.codegen.graph_runner import run_graph

ANSWER = """
.decl r(x: symbol)
.decl s(x: symbol)
.decl p(x: symbol, y: symbol)
.decl q(x: symbol, y: symbol)
.decl answer(x: symbol)
.input r, s
.output answer
answer(X) :- q(X, "a").
q(X, Y) :- p(Y, X).
p("a", X) :- r(X).
p("b", X) :- s(X).
"""

CONFLICT = """
.decl r(x: number, y: number)
.decl p(x: number, y: number)
.input r
.output p
p(X, Y) :- r(X, Y).
p(Y, Z) :- p(X, Y), r(Y, Z).
"""

REACH = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.input edge
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

CHAIN = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
.decl d(x: number)
.input a
.output d
b(x, y) :- a(x, y), x < y.
c(x, z) :- b(x, y), a(y, z).
d(x) :- c(x, z), x != z.
"""


def as_in_the_paper(text: str) -> ApplicationGraph:
    return application_graph(checked_program(text), columns=Columns.OF_RULES)


def graph_of(text: str, **options: int) -> ApplicationGraph:
    return application_graph(checked_program(text), **options)


def applications(graph: ApplicationGraph) -> list[tuple[str, str, str]]:
    """Each rule node as (what it takes, its rule, what it gives)."""
    return [
        (
            "" if node.fact is None else str(graph.facts[node.fact].fact),
            node.rule.label,
            str(graph.facts[node.result].fact),
        )
        for node in graph.rules
    ]


def test_the_path_of_5_3_that_reaches_no_answer_is_removed() -> None:
    graph = as_in_the_paper(ANSWER)
    assert applications(graph) == [
        ("", "3", 'p("a", v3_X)'),
        ("", "4", 'p("b", v4_X)'),
        ('p("a", v3_X)', "2", 'q(v3_X, "a")'),
        ('p("b", v4_X)', "2", 'q(v4_X, "b")'),
        ('q(v3_X, "a")', "1", "answer(v3_X)"),
    ]
    assert [str(node.fact) for node in graph.facts if node.removed] == ['p("b", v4_X)', 'q(v4_X, "b")']
    assert [node.rule.label for node in graph.rules if node.removed] == ["4", "2"]
    assert graph.facts[3].removed == "no rule takes it, and q is not asked for"


def test_the_rule_of_5_4_conflicts_with_its_own_variable() -> None:
    graph = as_in_the_paper(CONFLICT)
    assert applications(graph) == [
        ("", "1", "p(v1_X, v1_Y)"),
        ("p(v1_X, v1_Y)", "2", "p(v1_Y, v2_Z)"),
        ("p(v1_Y, v2_Z)", "2", "p(v2_Y, v2_Z)"),
        ("p(v2_Y, v2_Z)", "2", "p(v2_Y, v2_Z)"),
    ]
    assert [sorted(map(str, node.conflict)) for node in graph.rules] == [[], [], ["v2_Z"], ["v2_Z"]]
    assert [(str(copy.target), str(copy.source)) for copy in graph.rules[2].copies] == [("v2_Y", "v2_Z")]
    assert [cycle.rules for cycle in graph.cycles] == [(3,)]


@pytest.mark.parametrize("columns", [Columns.OF_RULES, Columns.OF_RELATION])
def test_values_survive_the_conflict_of_5_4(columns: Columns) -> None:
    graph = application_graph(checked_program(CONFLICT), columns=columns)
    r = {(1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (4, 1), (5, 7)}
    expected = evaluate(checked_program(CONFLICT), {"r": r})
    assert run_graph(graph, {"r": r})["p"] == expected["p"]


def test_a_literal_that_cannot_match_has_no_node() -> None:
    graph = as_in_the_paper("""
        .decl e(x: symbol)
        .decl p(x: symbol, y: symbol, z: symbol)
        .decl h(x: symbol)
        .input e
        .output h
        p("b", Y, Y) :- e(Y).
        h(X) :- p(X, X, "a").
    """)
    assert applications(graph) == [("", "1", 'p("b", v1_Y, v1_Y)')]
    assert [rule.label for rule in graph.idle] == ["2"]


def test_a_stored_relation_has_one_symbolic_fact_where_its_columns_are_its_own() -> None:
    graph = graph_of(REACH)
    assert applications(graph) == [
        ("", "1", "path(v_path_x, v_path_y)"),
        ("path(v_path_x, v_path_y)", "2", "path(v_path_x, v_path_y)"),
    ]
    assert [cycle.checked for cycle in graph.cycles] == [("path",)]
    assert graph.checks["path"].reasons == ("its rows are asked for",)


def test_known_values_are_put_into_the_body_and_decide_tests() -> None:
    graph = graph_of("""
        .decl e(x: number, y: number)
        .decl p(x: number, y: number)
        .decl h(x: number)
        .input e
        .output h
        p(1, y) :- e(_, y).
        p(7, y) :- e(y, _).
        h(z) :- p(x, y), x < 5, e(y, z).
    """)
    (taking,) = [node for node in graph.rules if node.fact is not None]
    assert str(graph.facts[taking.fact or 0].fact) == "p(1, v1_y)"
    assert taking.conditions == ()


def test_what_rows_must_decide_stays_as_a_check() -> None:
    graph = graph_of("""
        .decl e(x: number, y: number)
        .decl p(x: number, y: number)
        .decl h(x: number)
        .input e
        .output h
        p(x, y) :- e(x, y).
        h(x) :- p(x, x).
        h(x) :- p(x, 3).
    """)
    assert [[str(check) for check in node.checks] for node in graph.rules] == [[], ["v1_y = v1_x"], ["v1_y = 3"]]


def test_intermediate_relations_with_one_reader_are_never_stored() -> None:
    graph = graph_of(CHAIN)
    assert set(graph.stored) == {"d"}
    assert [phase.relations for phase in graph.phases] == [("d",)]
    assert graph.is_pushed("b")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("d(x) :- a(x, _), !b(x, x).", "rule 4 reads it under negation or in an aggregate"),
        ("d(n) :- n = count : { b(_, _) }.", "rule 4 reads it under negation or in an aggregate"),
        ("d(x) :- b(x, y), b(y, x).", "rule 4 reads it more than once"),
        ("d(x) :- c(x, y), b(y, x).", "rule 4 looks it up for each row of c"),
        (".output b", "its rows are asked for"),
        (".limitsize b(n=10)", "a .limitsize counts its rows"),
    ],
)
def test_what_must_be_complete_or_looked_up_is_stored(rule: str, reason: str) -> None:
    assert reason in graph_of(f"{CHAIN}{rule}\n").stored["b"]


def test_a_join_that_several_strata_need_is_stored_and_a_scan_is_not() -> None:
    text = """
        .decl a(x: number, y: number)
        .decl t(x: number, y: number)
        .decl h(x: number)
        .decl k(x: number)
        .input a
        .output h, k
        h(x) :- t(x, x).
        k(y) :- t(y, 1).
    """
    scanned = graph_of(f"{text} t(x, y) :- a(y, x).")
    dropped = graph_of(f"{text} t(x, 1) :- a(_, x).")
    joined = graph_of(f"{text} t(x, z) :- a(x, y), a(y, z).")
    assert "t" not in scanned.stored
    assert len(scanned.phases) == 2
    assert dropped.stored["t"] == ("2 strata need it, and rule 3 gives duplicates each time",)
    assert joined.stored["t"] == ("2 strata need it, and rule 3 would join each time",)


def test_too_many_symbolic_facts_become_one() -> None:
    rules = "".join(f"p({number}, x) :- e(x), x > {number}.\n" for number in range(20))
    graph = graph_of(f"""
        .decl e(x: number)
        .decl p(x: number, y: number)
        .decl h(x: number)
        .input e
        .output h
        {rules}
        h(x) :- p(x, y), y != 3.
    """)
    assert [str(node.fact) for node in graph.facts if node.fact.relation == "p"] == ["p(v_p_x, v_p_y)"]
    assert graph.facts[0].generalised == "for its known values it would have more than 16 symbolic facts"


def test_too_many_variables_give_way_before_known_values_do() -> None:
    graph = graph_of(
        """
        .decl e(x: number)
        .decl p(x: number, y: number)
        .decl h(x: number)
        .input e
        .output h
        p(1, x) :- e(x).
        p(1, y) :- e(y), y > 2.
        p(2, z) :- e(z), z < 5.
        h(x) :- p(x, y), y != 3.
        """,
        most_facts=2,
    )
    assert [str(node.fact) for node in graph.facts if node.fact.relation == "p"] == ["p(1, v_p_y)", "p(2, v_p_y)"]
    assert graph.facts[0].generalised == "for the variables of rules it would have more than 2 symbolic facts"


def test_computed_columns_do_not_grow_without_end() -> None:
    graph = graph_of("""
        .decl n(x: number)
        .output n
        n(0).
        n(x + 1) :- n(x), x < 1000.
    """)
    assert [str(node.fact) for node in graph.facts] == ["n(0)", "n(v_n_x)"]


def test_a_rule_that_may_have_no_value_is_kept_for_its_error() -> None:
    graph = graph_of("""
        .decl e(x: number)
        .decl useless(x: number)
        .decl h(x: number)
        .input e
        .output h
        useless(10 / x) :- e(x).
        h(x) :- e(x).
    """)
    assert [(node.rule.label, node.removed, node.reports) for node in graph.rules] == [
        ("1", "", True),
        ("2", "", False),
    ]


def test_rows_from_outside_go_into_a_derived_relation() -> None:
    graph = graph_of(f"{REACH}.input path\n")
    assert run_graph(graph, {"edge": [(2, 3)], "path@given": [(1, 2)]})["path"] == {(1, 2), (1, 3), (2, 3)}


def test_a_duplicate_check_stands_where_a_dropped_variable_meets_a_join() -> None:
    graph = graph_of("""
        .decl e(x: number, y: number)
        .decl t(x: number)
        .decl h(x: number)
        .input e
        .output h
        t(x) :- e(x, _).
        h(y) :- t(x), e(x, y).
    """)
    assert graph.checks["t"].reasons == ("rule 1 drops a variable, and rule 2 joins what is left",)
    assert "t" not in graph.stored


def test_a_cycle_past_the_stored_relation_has_a_check_of_its_own() -> None:
    graph = graph_of("""
        .decl e(x: number, y: number)
        .decl p(x: number, y: number)
        .decl q(x: number, y: number)
        .decl r(x: number, y: number)
        .input e
        .output r
        p(x, y) :- e(x, y).
        q(y, x) :- p(x, y).
        p(y, x) :- q(x, y).
        r(x, y) :- p(x, y), x < y.
        p(y, x) :- r(x, y).
    """)
    assert list(graph.stored) == ["r"]
    assert graph.checks["p"].reasons == ("ends the recursion of p and q",)
    assert all(cycle.checked for cycle in graph.cycles)


CASES = [case for case in all_cases() if case.expected_error is None]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_graph_of_every_case_run_row_by_row_gives_what_is_expected(case: Case) -> None:
    checked = case.checked()
    graph = application_graph(checked)
    given = case.facts(checked)
    derived = {node.rule.plan.head for node in graph.rules}
    facts = {f"{name}@given" if name in derived else name: set(rows) for name, rows in given.items()}
    for rule in (rule for stratum in checked.strata for rule in stratum.rules):
        row = fact_of(rule)
        if row is not None and rule.head.relation not in derived:  # stored before the program starts
            facts.setdefault(rule.head.relation, set()).add(row)
    try:
        rows = run_graph(graph, facts)
    except NoValue:
        pytest.skip("the plain algebra of the tests does not know which errors do not matter")
    wanted = {name for directive in checked.outputs for name in directive.relations}
    expected = {name: set(found) for name, found in case.expected(checked).items() if name in wanted}
    assert {name: rows.get(name, set()) for name in expected} == expected
