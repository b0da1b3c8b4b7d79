"""What a question turns a program into."""

from __future__ import annotations

import pytest

from tidelog.analysis.adornment import given_to, states_fact
from tidelog.analysis.check import check
from tidelog.analysis.magic import Rewritten, Sources, Unhelpful, rewrite
from tidelog.analysis.magic_ends import both_ends
from tidelog.analysis.magic_printer import print_ends, print_rewritten
from tidelog.language.parser import parse
from tidelog.language.printer import print_rule
from tidelog.language.syntax_tree import Rule
from tidelog.plan import lower
from tidelog.query import parse_question, with_kinds

EDGES = ".decl e(a: number, b: number) .input e .decl n(a: number) .input n .decl r(a: number, b: number)\n"
COMPOSED = EDGES + "r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z).\n"


def rewritten(text: str, question: str, *given: str) -> Rewritten | Unhelpful:
    checked = check(parse(text))
    atom, _ = parse_question(question, checked)
    return rewrite(checked, with_kinds(atom, checked.schemas[atom.relation]), frozenset(given))


def rules(text: str, question: str, *given: str) -> list[str]:
    found = rewritten(text, question, *given)
    assert isinstance(found, Rewritten), found
    return [print_rule(Rule((rule.head,), rule.body)) for each in found.checked.strata for rule in each.rules]


def left_alone(text: str, question: str) -> dict[str, str]:
    found = rewritten(text, question)
    assert isinstance(found, Rewritten), found
    return dict(found.left_alone)


def test_what_is_asked_passes_through_the_body() -> None:
    text = EDGES + "r(x, y) :- e(p, x), e(p, y), x != y. r(x, y) :- e(a, x), r(a, b), e(b, y)."
    assert rules(text, "r(1, Y)") == [
        "?r@bf(a) :- ?r@bf(x), e(a, x).",
        "r@bf(x, y) :- ?r@bf(x), e(p, x), e(p, y), x != y.",
        "r@bf(x, y) :- ?r@bf(x), e(a, x), r@bf(a, b), e(b, y).",
    ]


@pytest.mark.parametrize(
    "recursion",
    ["r(x, z) :- r(x, y), r(y, z).", "r(x, z) :- r(x, y), e(y, z).", "r(x, z) :- e(x, y), r(y, z)."],
)
def test_a_closure_is_followed_from_the_end_that_is_bound(recursion: str) -> None:
    text = EDGES + "r(x, y) :- e(x, y)." + recursion
    assert rules(text, "r(1, Y)") == [
        "r@bf(a, b) :- ?r@bf(a), e(a, b).",
        "r@bf(a, b) :- r@bf(a, via), e(via, b).",
    ]
    assert rules(text, "r(X, 1)") == [
        "r@fb(a, b) :- ?r@fb(b), e(a, b).",
        "r@fb(a, b) :- r@fb(via, b), e(a, via).",
    ]


def test_facts_of_a_composed_closure_are_edges() -> None:
    assert rules(COMPOSED, "r(1, Y)", "r")[2:] == [
        "r@bf(a, b) :- ?r@bf(a), r@given(a, b).",
        "r@bf(a, b) :- r@bf(a, via), r@given(via, b).",
    ]


def test_facts_of_a_linear_closure_are_no_edges() -> None:
    text = EDGES + "r(x, y) :- e(x, y). r(x, z) :- e(x, y), r(y, z)."
    assert "r@bf(a, b) :- ?r@bf(a), r@given(a, b)." in rules(text, "r(1, Y)", "r")
    assert not any("r@given(via" in rule for rule in rules(text, "r(1, Y)", "r"))


def test_constants_of_a_body_bind_too() -> None:
    text = COMPOSED + ".decl q(a: number) q(x) :- n(x), r(3, x)."
    assert "?r@bf(3) :- ?q@b(x)." in rules(text, "q(5)")


def test_what_might_have_no_value_passes_nothing_on() -> None:
    text = COMPOSED + ".decl q(a: number) q(x) :- n(x), y = 10 / x, r(y, x)."
    assert [rule for rule in rules(text, "q(5)") if rule.startswith("?")] == ["?r@fb(x) :- ?q@b(x), n(x)."]


def test_a_negated_relation_is_asked_for_in_parts() -> None:
    text = COMPOSED + ".decl q(a: number, b: number) q(x, y) :- n(x), n(y), !r(x, y)."
    assert "q@bf(x, y) :- ?q@bf(x), n(x), n(y), !r@bf(x, y)." in rules(text, "q(5, Y)")


def test_an_aggregated_relation_is_asked_for_by_its_outer_variables() -> None:
    text = COMPOSED + ".decl q(a: number, b: number) q(x, c) :- n(x), c = count : { r(x, y), n(y) }."
    assert "q@bf(x, c) :- ?q@bf(x), n(x), c = count : { r@bf(x, y), n(y) }." in rules(text, "q(5, Y)")


def test_a_part_that_would_depend_on_its_own_negation_is_left_alone() -> None:
    text = COMPOSED + (
        ".decl bad(a: number) bad(x) :- n(x), r(x, x)."
        ".decl q(a: number, b: number) q(x, y) :- e(x, y). q(x, y) :- q(x, z), e(z, y), !bad(z)."
    )
    assert left_alone(text, "q(5, Y)") == {
        "bad": "'q' negates it, and what it asks of it would depend on itself",
        "r": "'bad' needs all of it",
    }


def test_a_relation_that_is_read_unbound_is_computed_once_under_its_own_name() -> None:
    text = COMPOSED + ".decl q(a: number, b: number) q(x, y) :- e(x, y), r(_, _). q(x, y) :- r(x, y)."
    assert left_alone(text, "q(5, Y)") == {"r": "a rule for 'q' in line 3 reads it with no column bound"}
    assert "q@bf(x, y) :- ?q@bf(x), r(x, y)." in rules(text, "q(5, Y)")


def test_a_relation_with_a_size_limit_is_left_alone() -> None:
    text = COMPOSED + ".decl c(a: number) .limitsize c(n=9) c(0). c(x + 1) :- c(x). .decl q(a: number) q(x) :- c(x)."
    assert left_alone(text, "q(5)") == {"c": "it has a .limitsize"}


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("r(X, Y)", "the question binds no column"),
        ("e(1, X)", "no rule derives 'e': its rows are stored"),
        ("c(3)", "all of 'c' is needed: a rule for 'c' in line 3 reads it with no column bound"),
    ],
)
def test_a_rewriting_that_would_not_help_says_why(question: str, reason: str) -> None:
    text = COMPOSED + ".decl c(a: number) c(0). c(x + 1) :- c(x), x < 9."
    assert rewritten(text, question) == Unhelpful(reason)


def test_only_the_relations_that_matter_are_read() -> None:
    text = COMPOSED + ".decl q(a: number) q(x) :- n(x)."
    found = rewritten(text, "r(1, X)", "r")
    assert isinstance(found, Rewritten)
    assert found.reads == {"e", "r"}


@pytest.mark.parametrize("fact", ["r(1, 2).", "r(1 + 1, 2).", "r(1 / 0, 2)."])
def test_facts_are_where_the_plan_keeps_them(fact: str) -> None:
    checked = check(parse(EDGES + fact))
    (rule,) = checked.strata[0].rules
    is_stored = given_to("r") not in lower(checked).hidden
    assert states_fact(rule.head) is is_stored


def test_the_text_of_a_rewriting_names_the_rules_it_comes_from() -> None:
    found = rewritten(COMPOSED, "r(1, X)")
    assert isinstance(found, Rewritten)
    assert print_rewritten(found).splitlines() == [
        "asked for",
        "  ?r@bf(1).",
        "",
        "stratum 1: r@bf",
        "  // <text>:2:1: r(x, y) :- e(x, y).",
        "  r@bf(a, b) :- ?r@bf(a), e(a, b).",
        "  // <text>:2:21: r(x, z) :- r(x, y), r(y, z).",
        "  r@bf(a, b) :- r@bf(a, via), e(via, b).",
        "",
        "answers are in r@bf",
    ]


def test_a_question_without_variables_is_searched_from_both_ends() -> None:
    checked = check(parse(EDGES + ".decl s(a: number) s(x) :- n(x). s(y) :- s(x), e(x, y)."))
    atom, _ = parse_question("s(7)", checked)
    ends = both_ends(Sources.of(checked, frozenset()), with_kinds(atom, checked.schemas["s"]))
    assert ends is not None
    shown = print_ends(ends, atom)
    assert "  s@forth(y) :- s@forth(x), e(x, y)." in shown
    assert "  s@back(x) :- s@back(y), e(x, y)." in shown


@pytest.mark.parametrize(
    ("rule", "question"),
    [
        ("r(x, z) :- r(x, y), e(y, z).", "r(1, X)"),
        ("r(x, z) :- r(x, y), r(y, z), n(x).", "r(1, 2)"),
        ("r(x, z) :- r(x, y), e(z, _).", "r(1, 2)"),
        ("r(x, z) :- r(x, y), e(y, z), z = y + 1.", "r(1, 2)"),
    ],
)
def test_other_questions_and_rules_are_not(rule: str, question: str) -> None:
    checked = check(parse(EDGES + "r(x, y) :- e(x, y)." + rule))
    atom, _ = parse_question(question, checked)
    assert both_ends(Sources.of(checked, frozenset()), with_kinds(atom, checked.schemas["r"])) is None
