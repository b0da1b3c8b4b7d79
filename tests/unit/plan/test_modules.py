"""A closure becomes its edges and a module: a stratum of its own, or a part of a larger one."""

from __future__ import annotations

import pytest

from tidelog.analysis.checked import ClosureKind
from tidelog.plan.modules import closed_while_bare, edges_of, with_modules
from tidelog.plan.nodes import ClosedRelation, Plan
from tidelog.plan.optimize import optimize
from tidelog.plan.printer import print_rule_plan
from unit.plan.rule_texts import plan_of

RELATIONS = """
.decl e(x: number, y: number)
.decl w(x: number)
.decl p(x: number, y: number)
.decl q(x: number, y: number)
"""
STARTS = "p(x, y) :- e(x, y)."
CLOSES = f"{STARTS} p(x, z) :- p(x, y), p(y, z)."


def plan_with_modules(rules: str, excluded: frozenset[str] = frozenset()) -> Plan:
    return with_modules(optimize(plan_of(RELATIONS + rules)), excluded)


def closed_in(plan: Plan) -> dict[str, ClosedRelation]:
    """The closed relations of a plan, by name."""
    return {stratum.relations[0]: stratum.closed for stratum in plan.strata if stratum.closed is not None}


def test_a_closure_is_split_into_its_edges_and_a_stratum_without_rules() -> None:
    plan = plan_with_modules(CLOSES)
    edges, closed = [stratum for stratum in plan.strata if stratum.relations != ("e",)]
    assert edges.relations == (edges_of("p"),)
    shown = [print_rule_plan(rule) for rule in (*edges.given, *edges.once)]
    assert shown == ["p@given(x, y) → p@edges(x, y)", "e(x, y) → p@edges(x, y)"]
    assert edges.rounds == edges.first == ()
    assert closed.relations == ("p",)
    assert closed.given == closed.once == closed.rounds == closed.first == ()
    assert closed.closed is not None
    assert (closed.closed.edges, closed.closed.closure.kind) == ("p@edges", ClosureKind.TRANSITIVE)


def test_the_edges_are_hidden_and_have_the_columns_of_the_relation() -> None:
    plan = plan_with_modules(CLOSES)
    assert plan.hidden[edges_of("p")].attributes == plan.schemas["p"].attributes
    assert edges_of("p") not in plan.schemas


@pytest.mark.parametrize(
    ("starts", "edges"),
    [("p(x, y) :- e(x, y).", "e"), ("p(y, x) :- e(x, y).", "p@edges")],
    ids=["as it is", "turned round"],
)
def test_a_relation_that_is_followed_as_it_is_needs_no_copy(starts: str, edges: str) -> None:
    follows = starts.replace(":- e(x, y).", ":- e(z, y), p(z, x)." if edges != "e" else ":- e(x, z), p(z, y).")
    plan = plan_with_modules(f"{starts} {follows}")
    assert closed_in(plan)["p"].edges == edges
    assert (edges_of("p") in plan.hidden) == (edges == "p@edges")


@pytest.mark.parametrize(
    ("rules", "bare", "edges"),
    [
        (CLOSES, {"p"}, "e"),
        (CLOSES, {"q"}, "p@edges"),
        (f"{CLOSES} p(x, y) :- q(x, y).", {"p"}, "p@edges"),
        (CLOSES.replace("e(x, y)", "e(y, x)"), {"p"}, "p@edges"),
    ],
    ids=["nothing is given", "something may be given", "two relations", "turned round"],
)
def test_what_is_closed_over_itself_needs_no_copy_while_nothing_is_given_to_it(
    rules: str, bare: set[str], edges: str
) -> None:
    plan = with_modules(optimize(plan_of(RELATIONS + rules)), bare=bare)
    assert closed_in(plan)["p"].edges == edges
    assert (edges_of("p") in plan.hidden) == (edges == "p@edges")
    assert closed_while_bare(plan) == ({"p"} if edges == "e" else set())


def test_what_is_not_a_closure_is_left_as_it_is() -> None:
    plan = optimize(plan_of(f"{RELATIONS} p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z), w(z)."))
    assert with_modules(plan) == plan


@pytest.mark.parametrize(
    "rules",
    [
        f"{CLOSES} p(x, x) :- p(x, y), w(y).",
        f"{CLOSES} q(x, y) :- p(x, y). p(x, y) :- q(y, x), w(x).",
        f"{CLOSES} .limitsize p(n=5)",
    ],
    ids=["another recursive rule", "a larger stratum", "a limit on its size"],
)
def test_a_closure_with_something_beside_it_is_no_stratum_of_its_own(rules: str) -> None:
    assert closed_in(plan_with_modules(rules)) == {}


def test_a_module_works_beside_rules_that_follow_from_the_closure_and_lead_to_it() -> None:
    plan = plan_with_modules(f"{CLOSES} q(x, y) :- p(x, y), w(x). p(x, y) :- q(y, x).")
    (stratum,) = [stratum for stratum in plan.strata if stratum.modules]
    assert set(stratum.relations) == {"p", "q", "p@edges"}
    (module,) = stratum.modules
    assert (module.edges, module.closure.relation) == ("p@edges", "p")
    assert [print_rule_plan(rule) for rule in stratum.rounds] == [
        "p(x, y)Δ ⋈ w(x) → q(x, y)",
        "q(y, x)Δ → p@edges(x, y)",
    ]
    assert not any(rule.id in module.closure.rules for rule in (*stratum.once, *stratum.first))


@pytest.mark.parametrize(
    "rules",
    [
        f"{CLOSES} q(x, z) :- p(x, y), p(z, y). p(x, y) :- q(x, y), w(x).",
        f"{CLOSES} p(x, x) :- p(x, y). .limitsize p(n=5)",
    ],
    ids=["another rule that joins facts of the stratum", "a limit on its size"],
)
def test_a_closure_is_computed_by_rules_where_a_module_does_not_pay_or_cannot_stop(rules: str) -> None:
    plan = plan_with_modules(rules)
    assert not any(stratum.modules or stratum.closed for stratum in plan.strata)


def test_an_excluded_relation_is_computed_by_rules() -> None:
    assert closed_in(plan_with_modules(CLOSES, frozenset({"p"}))) == {}
    assert closed_in(plan_with_modules(CLOSES, frozenset({"q"}))).keys() == {"p"}


def test_a_closure_of_a_closure_has_two_modules() -> None:
    plan = plan_with_modules(f"{CLOSES} q(x, y) :- p(x, y), w(x). q(x, y) :- q(y, x). q(x, z) :- q(x, y), q(y, z).")
    assert {name: closed.closure.kind for name, closed in closed_in(plan).items()} == {
        "p": ClosureKind.TRANSITIVE,
        "q": ClosureKind.SYMMETRIC,
    }


@pytest.mark.parametrize(
    ("reader", "is_written_out"),
    [
        ("q(x, y) :- p(x, y).", False),
        ("q(x, y) :- p(x, y), w(y).", False),
        ("q(x, y) :- e(x, y), !p(y, x).", False),
        ("q(x, n) :- w(x), n = count : { p(x, _) }.", False),
        ("q(x, z) :- p(x, y), p(z, y).", True),
        ("q(x, y) :- p(x, y), !p(y, x).", True),
        ("q(x, n) :- p(x, _), n = count : { p(x, _) }.", True),
        ("q(x, z) :- q(x, y), e(y, z), p(x, z), p(z, x).", True),
    ],
)
def test_a_closure_is_written_out_where_a_rule_reads_it_twice(reader: str, is_written_out: bool) -> None:
    plan = plan_with_modules(f"{CLOSES} {reader}")
    assert closed_in(plan)["p"].is_written_out is is_written_out


def test_a_rule_with_another_head_beside_the_closure_reads_it_twice() -> None:
    plan = plan_with_modules(f"{STARTS} p(x, z), q(x, z) :- p(x, y), p(y, z).")
    assert closed_in(plan)["p"].is_written_out
