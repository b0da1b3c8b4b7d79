"""Simple rules mean what the rules mean that they come from."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from oracle import evaluate
from strategies import programs
from tidelog.analysis import CheckedProgram, check
from tidelog.analysis.traversal import all_terms
from tidelog.errors import EvaluationError, ProgramError
from tidelog.language.parser import parse
from tidelog.language.printer import print_literal
from tidelog.language.syntax_tree import (
    AttributeDeclaration,
    Cast,
    Disjunction,
    Program,
    RelationDeclaration,
    Rule,
    Truth,
)

EDGES = {"e": [(1, 2), (2, 3), (3, 1), (3, 4)]}


def simple_form(checked: CheckedProgram) -> CheckedProgram:
    """The checked program whose rules are the simple ones."""
    declarations = [
        RelationDeclaration(name, tuple(AttributeDeclaration(part.name, part.type) for part in schema.attributes))
        for name, schema in checked.schemas.items()
    ]
    rules = [Rule((rule.head,), rule.body) for stratum in checked.strata for rule in stratum.rules]
    return replace(checked, program=Program((*declarations, *rules)))


def rows(text, facts=EDGES):
    """What the rules mean as written; the simple rules must give the same."""
    checked = check(parse(text))
    written, simple = evaluate(checked, facts), evaluate(simple_form(checked), facts)
    inline = {relation.name for relation in checked.program.relations if "inline" in relation.qualifiers}
    assert {name: simple[name] for name in written if name not in inline} == {
        name: found for name, found in written.items() if name not in inline
    }
    return simple


def simple_bodies(text):
    checked = check(parse(text))
    return [
        f"{print_literal(rule.head)} :- {', '.join(map(print_literal, rule.body))}"
        for stratum in checked.strata
        for rule in stratum.rules
    ]


def test_heads_are_split_and_disjunctions_become_alternatives():
    text = """.decl e(a: number, b: number)  .decl p(a: number)  .decl q(a: number)
              p(x), q(y) :- e(x, y), (x = 1 ; y = 1, true ; false)."""
    assert sorted(simple_bodies(text)) == [
        "p(x) :- e(x, y), x = 1",
        "p(x) :- e(x, y), y = 1",
        "q(y) :- e(x, y), x = 1",
        "q(y) :- e(x, y), y = 1",
    ]


def test_a_false_body_gives_no_rule():
    assert simple_bodies(".decl p(a: number)  p(1) :- false.") == []


def test_rules_keep_id_place_and_text_of_the_rule_they_come_from():
    text = ".decl e(a: number)\n.decl p(a: number)\ne(1).\np(x) :- (e(x) ; x = 2)."
    (stratum,) = [part for part in check(parse(text, "f.dl")).strata if part.relations == ("p",)]
    assert [(rule.id, rule.span.line) for rule in stratum.rules] == [(2, 4), (2, 4)]
    assert len({rule.text for rule in stratum.rules}) == 1


def test_inline_relations_are_replaced_by_each_of_their_rules():
    text = """.decl e(a: number, b: number)  .decl p(a: number)
              .decl near(a: number, b: number) inline
              near(x, y) :- e(x, y).
              near(x, x) :- e(x, _).
              p(y) :- near(3, y), near(y, _)."""
    assert rows(text)["p"] == {(1,), (3,)}
    assert not any("near" in body for body in simple_bodies(text))


def test_inline_relations_may_leave_variables_to_their_users():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number)  .decl q(a: number, b: number)
              .decl n(a: number)
              .decl less(a: number, b: number) inline
              less(x, y) :- x < y, x != 2.
              p(x, y) :- e(x, y), less(x, y).
              q(x, y) :- e(x, y), !less(x, y).
              n(c) :- c = count : { e(x, y), less(x, y) }."""
    simple = evaluate(simple_form(check(parse(text))), EDGES)
    assert simple["p"] == {(1, 2), (3, 4)}
    assert simple["q"] == {(2, 3), (3, 1)}
    assert simple["n"] == {(2,)}


def test_negated_and_aggregated_inline_relations_are_stored():
    text = """.decl e(a: number, b: number)  .decl p(a: number)  .decl n(a: number)
              .decl second(a: number) inline
              second(y) :- e(_, y).
              p(x) :- e(x, _), !second(x).
              n(c) :- c = count : { second(_) }."""
    assert rows(text)["n"] == {(4,)}


def test_inlining_does_not_hide_an_expression_without_a_value():
    text = """.decl e(a: number, b: number)  .decl p(a: number)
              .decl ratio(a: number, b: number) inline
              ratio(x, z) :- e(x, y), z = x / (y - 4).
              p(z) :- ratio(x, z), x < 3."""
    simple = simple_form(check(parse(text)))
    with pytest.raises(EvaluationError):
        evaluate(simple, EDGES)


def test_locals_of_inlined_aggregates_are_kept_apart():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number, c: number)
              .decl degree(a: number, n: number) inline
              degree(x, n) :- e(x, _), n = count : { e(x, y) }.
              p(x, n, m) :- degree(x, n), e(x, y), degree(y, m)."""
    assert rows(text)["p"] == {(1, 1, 1), (2, 1, 2), (3, 2, 1)}


def test_locals_of_different_aggregates_are_different_variables():
    text = """.decl e(a: number, b: number)  .decl s(a: symbol)  .decl p(a: number, b: number)
              s("a").
              p(n, m) :- n = count : { e(x, _) }, m = count : { s(x) }."""
    assert rows(text)["p"] == {(4, 1)}
    (rule,) = [rule for stratum in check(parse(text)).strata for rule in stratum.rules if rule.body]
    names = [term.name for term in all_terms(rule.body) if hasattr(term, "name")]
    assert len(set(names)) == 4


def test_an_assignment_that_satisfies_two_alternatives_counts_once():
    text = """.decl e(a: number, b: number)  .decl p(a: number)  .decl q(a: number, b: number)
              p(n) :- n = count : { (e(x, y) ; e(x, y), x > 1 ; e(y, x)) }.
              q(x, n) :- e(x, _), n = sum y : { (e(x, y) ; e(y, x)) }."""
    found = rows(text)
    assert found["p"] == {(8,)}
    assert found["q"] == {(1, 5), (2, 4), (3, 7)}


def test_each_wildcard_of_an_aggregate_with_alternatives_is_a_variable():
    text = """.decl e(a: number, b: number)  .decl p(a: number)
              p(n) :- n = count : { e(x, _), (x = 1 ; x = 3) }."""
    assert rows(text)["p"] == {(3,)}


def test_alternatives_of_an_aggregate_may_have_different_variables():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number)  .decl q(a: number)
              p(x, n) :- e(x, _), n = count : { (e(y, _) ; e(_, y)), y < x }.
              q(n) :- n = count : { (e(x, y) ; e(_, x)) }."""
    found = rows(text)
    assert found["p"] == {(1, 0), (2, 2), (3, 4)}
    assert found["q"] == {(8,)}


def test_alternatives_that_only_filter_may_wait_for_outer_values():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number)
              p(x, n) :- e(x, _), n = count : { e(y, _), (y < x ; y != x ; !e(x, y)) }."""
    assert rows(text)["p"] == {(1, 4), (2, 4), (3, 4)}


def test_alternatives_that_bind_may_stand_beside_literals_that_wait_for_outer_values():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number)
              p(x, n) :- e(x, _), n = count : { (e(y, z) ; e(z, y)), y < x }."""
    assert rows(text)["p"] == {(1, 0), (2, 2), (3, 4)}


def test_one_alternative_may_use_an_outer_variable_that_another_does_not():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number)
              p(x, n) :- e(x, _), n = count : { (e(y, z), z < x ; e(z, y)) }."""
    assert rows(text)["p"] == {(1, 4), (2, 5), (3, 6)}


def test_inline_relations_of_several_rules_may_be_aggregated_where_they_leave_variables_to_their_users():
    text = """.decl e(a: number, b: number)  .decl n(a: number)
              .decl apart(a: number, b: number) inline
              apart(x, y) :- x < y.
              apart(x, y) :- x > y, x != 2.
              apart(x, y) :- x != y.
              n(c) :- c = count : { e(x, y), apart(x, y) }."""
    assert evaluate(simple_form(check(parse(text))), EDGES)["n"] == {(4,)}


def test_aggregates_over_true_and_false():
    text = """.decl p(a: number, b: number)
              p(n, m) :- n = count : { true }, m = count : { false }."""
    assert rows(text, {})["p"] == {(1, 0)}


def test_aggregates_and_ranges_may_stand_inside_expressions():
    text = """.decl e(a: number, b: number)  .decl p(a: number)
              p(x) :- e(x, count : { e(_, 1) } + 1), 1 = range(0, 3), x < max y : { e(y, _) }."""
    assert rows(text)["p"] == {(1,)}


def test_casts_are_gone():
    text = """.type T <: number  .decl e(a: number, b: number)  .decl p(a: T)
              p(as(x, T)) :- e(as(x, T), _).  p(as(7, T))."""
    checked = check(parse(text))
    rules = [rule for stratum in checked.strata for rule in stratum.rules]
    assert not any(isinstance(term, Cast) for rule in rules for term in all_terms((rule.head, *rule.body)))
    assert rows(text)["p"] == {(1,), (2,), (3,), (7,)}


def test_too_many_alternatives_are_refused():
    literals = ", ".join(f"(x = {i} ; x > {i})" for i in range(20))
    with pytest.raises(ProgramError, match="D409"):
        check(parse(f".decl e(a: number)  .decl p(a: number)  p(x) :- e(x), {literals}."))


@pytest.mark.parametrize("body", ["n = count : {{ e(x), {} }}, p(n)", "p(n), q(n)"])
def test_too_many_alternatives_of_an_aggregate_or_an_inline_relation_are_refused(body):
    literals = ", ".join(f"(x = {i} ; x > {i})" for i in range(20))
    text = f""".decl e(a: number)  .decl p(a: number)  .decl q(a: number) inline  .decl r(a: number)
               q(x) :- e(x){f", {literals}" if "q(n)" in body else ""}.
               r(n) :- {body.format(literals)}."""
    with pytest.raises(ProgramError, match="D409"):
        check(parse(text))


@settings(max_examples=60, deadline=None)
@given(programs())
def test_simple_rules_mean_what_the_written_ones_mean(sample):
    checked = check(parse(sample.text))
    simple = simple_form(checked)
    for rule in simple.program.rules:
        assert not any(isinstance(literal, Disjunction | Truth) for literal in rule.body)
    try:
        expected = evaluate(checked, sample.facts)
    except EvaluationError:
        with pytest.raises(EvaluationError):
            evaluate(simple, sample.facts)
        return
    found = evaluate(simple, sample.facts)
    inline = {relation.name for relation in checked.program.relations if "inline" in relation.qualifiers}
    assert {name: found[name] for name in expected if name not in inline} == {
        name: rows for name, rows in expected.items() if name not in inline
    }
