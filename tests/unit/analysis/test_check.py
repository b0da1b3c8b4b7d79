"""What a checked program holds."""

from itertools import pairwise

import pytest

from tidelog.analysis import check
from tidelog.analysis.traversal import all_terms
from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    AttributeDeclaration,
    Call,
    Comparison,
    Constant,
    DirectiveKind,
    Program,
    RelationDeclaration,
    Rule,
    Variable,
)
from tidelog.schema import Attribute, Kind, Schema

N, U, F, S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL


def checked_rule(text):
    """The last rule of a program, as checked."""
    return list(check(parse(text)).program.rules)[-1]


def codes(text):
    with pytest.raises(ProgramError) as caught:
        check(parse(text))
    return [finding.code for finding in caught.value.diagnostics]


def constants(rule):
    return [term for term in all_terms((*rule.heads, *rule.body)) if isinstance(term, Constant)]


def test_a_program_built_in_python_needs_no_places_and_no_ids():
    number = AttributeDeclaration("a", "number")
    one = Constant(1, None)
    program = Program(
        (
            RelationDeclaration("p", (number,)),
            RelationDeclaration("q", (AttributeDeclaration("a", "float"),)),
            Rule((Atom("p", (one,)),)),
            Rule((Atom("q", (one,)),)),
            Rule((Atom("p", (Variable("x"),)),), (Atom("p", (Variable("x"),)),)),
        )
    )
    checked = check(program)
    assert [rule.id for rule in checked.program.rules] == [1, 2, 3]
    assert [rule.heads[0].arguments[0].kind for rule in list(checked.program.rules)[:2]] == [N, F]


def test_schemas_resolve_types_to_kinds():
    checked = check(parse(".type A <: symbol  .type B = A  .type C = A | B  .decl p(x: C, y: number)"))
    assert checked.schemas == {"p": Schema("p", (Attribute("x", "C", S), Attribute("y", "number", N)))}


def test_plain_integers_take_the_kind_of_their_place():
    rule = checked_rule(
        """.decl p(a: number, b: unsigned, c: float)
           p(1, 2, 3) :- p(x, y, z), x > 4, y > 5, z > 6 + 7, strlen("a") = 8."""
    )
    kinds = {constant.value: constant.kind for constant in constants(rule) if constant.spelled is None}
    assert kinds == {1: N, 2: U, 3: F, 4: N, 5: U, 6: F, 7: F, 8: N}
    assert all(isinstance(constant.value, float) for constant in constants(rule) if constant.kind is F)


def test_facts_take_the_kinds_of_their_relation():
    rule = checked_rule('.decl p(a: float, b: unsigned, c: symbol)  p(1, 2, "a").')
    assert [(term.value, term.kind) for term in rule.heads[0].arguments] == [(1.0, F), (2, U), ("a", S)]
    assert isinstance(rule.heads[0].arguments[0].value, float)


def test_kinds_flow_through_equations_backward():
    rule = checked_rule(".decl p(a: unsigned)  .decl q(a: unsigned)  q(z) :- z = y + 1, y = x * 2, p(x).")
    calls = [term for term in all_terms(rule.body) if isinstance(term, Call)]
    assert [(call.kind, call.operands) for call in calls] == [(U, (U, U)), (U, (U, U))]
    assert all(literal.kind is U for literal in rule.body if isinstance(literal, Comparison))


def test_what_nothing_decides_is_a_number():
    rule = checked_rule(".decl s(a: symbol)  s(to_string(x)) :- x = 1 + 2.")
    (call,) = [term for term in rule.heads[0].arguments if isinstance(term, Call)]
    assert call.operands == (N,)


def test_overloads_are_chosen_by_operands_where_the_result_says_nothing():
    rule = checked_rule(".decl s(a: symbol)  .decl f(a: float)  s(to_string(x)) :- f(x).")
    assert rule.heads[0].arguments[0].operands == (F,)
    rule = checked_rule('.decl s(a: symbol)  s(max("a", x, "b")) :- s(x).')
    assert rule.heads[0].arguments[0].operands == (S, S, S)


def test_kinds_of_aggregates():
    rule = checked_rule(
        """.decl f(a: float)  .decl p(a: number, b: float, c: float, d: symbol)  .decl s(a: symbol)
           p(n, m, t, w) :- n = count : { f(_) }, m = mean x : { f(x) }, t = sum x : { f(x) }, w = min x : { s(x) }."""
    )
    aggregates = [term for term in all_terms(rule.body) if isinstance(term, Aggregate)]
    assert [aggregate.kind for aggregate in aggregates] == [N, F, F, S]


def test_the_checked_program_keeps_the_names_the_user_wrote():
    text = ".decl p(a: number)  .decl q(a: number, b: number)  q(n, m) :- n = count : { p(x) }, m = sum x : { p(x) }."
    program = parse(text)
    assert check(program).program == program


def test_mean_of_numbers_is_a_float():
    assert codes(".decl p(a: number)  .decl q(a: number)  q(m) :- m = mean x : { p(x) }.") == ["D301"]


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_the_ends_of_the_range_are_in_it(value):
    rule = checked_rule(f".decl p(a: number)  p(x) :- x = {value}.")
    assert [constant.value for constant in constants(rule)] == [value]


def test_subtypes_flow_up_and_unions_take_their_members():
    check(
        parse(
            """.type Place <: symbol  .type City <: Place  .type Person <: symbol  .type Any = Place | Person
               .decl city(c: City)  .decl place(p: Place)  .decl any(a: Any)  .decl name(s: symbol)
               place(x) :- city(x).  any(x) :- place(x).  name(x) :- any(x).  city("Rome").
               city(cat(x, "!")) :- city(x).
               city(x) :- place(x), city(x).  city(x) :- any(x), city(x).  city(as(x, City)) :- name(x)."""
        )
    )


def test_directives_are_sorted_by_what_they_ask_for():
    checked = check(
        parse(".decl p(a: number)  .decl q(a: number)  .input p, q  .output q  .printsize p  .limitsize q(n=5)")
    )
    assert [directive.relations for directive in checked.inputs] == [("p", "q")]
    assert [directive.kind for directive in checked.outputs] == [DirectiveKind.OUTPUT, DirectiveKind.PRINTSIZE]
    assert checked.size_limits == {"q": 5}


def test_strata_come_in_order_of_dependency_one_for_each_component():
    checked = check(
        parse(
            """.decl d(a: number)  .decl c(a: number)  .decl b(a: number)  .decl a(a: number)  .decl i(a: number)
               .input i
               d(x) :- c(x), !b(x).
               c(x) :- b(x).  b(x) :- c(x).  b(x) :- a(x).
               a(1).  a(x) :- i(x)."""
        )
    )
    assert [(stratum.relations, stratum.recursive) for stratum in checked.strata] == [
        (("a",), False),
        (("c", "b"), True),
        (("d",), False),
    ]
    assert [rule.id for rule in checked.strata[1].rules] == [2, 3, 4]


def test_a_long_chain_of_relations_does_not_exhaust_the_stack():
    names = [f"p{number}" for number in range(3000)]
    declarations = "\n".join(f".decl {name}(a: number)" for name in names)
    rules = "\n".join(f"{one}(x) :- {other}(x)." for one, other in pairwise(names))
    checked = check(parse(f"{declarations}\n{rules}\n{names[-1]}(1)."))
    assert [stratum.relations[0] for stratum in checked.strata] == names[::-1]


def test_every_stage_reports_and_one_mistake_is_reported_once():
    text = """.decl p(a: number)  .decl q(a: symbol)
              p(x) :- unknown(x).
              p(x) :- q(x).
              p(x) :- p(_).
              p(x) :- p(x), !p(x)."""
    assert codes(text) == ["D201", "D301", "D401", "D501"]


def test_rules_over_a_faulty_declaration_are_not_blamed():
    assert codes(".decl p(a: nomber)  .decl q(a: symbol)  p(1).  q(x) :- p(x).") == ["D204"]


def test_the_plan_of_a_rule_is_kept_where_its_atoms_are():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number)
              p(x, z) :- e(x, y), e(y, z).  .plan 0:(2, 1)
              p(x, z) :- (e(x, z) ; e(z, x)).  .plan 0:(2, 1)"""
    (stratum,) = check(parse(text)).strata
    assert [rule.plan is not None for rule in stratum.rules] == [True, False, False]


@pytest.mark.parametrize(
    "body",
    [
        "e(x, _), y = x + 1",
        "y = x + 1, x = z, z = 3",
        "e(x, y), 5 = y",
        "y = range(0, x), e(x, _)",
        "e(x, _), y = count : { e(x, _) }",
        "e(x, _), y = sum z : { e(z, w), w < x }",
        "e(x, x + 1), y = 1",
        "e(x, _), !e(x, _), y = x",
        "(e(x, y) ; e(y, x))",
        "x = 1, y = max z : { e(z, _), z = w + x, e(w, _) }",
    ],
)
def test_bodies_that_bind_all_their_variables(body):
    check(parse(f".decl e(a: number, b: number)  .decl p(a: number, b: number)  p(x, y) :- {body}."))


def warnings(text):
    return [finding.code for finding in check(parse(text)).warnings]


def test_a_sound_program_has_no_warnings():
    text = """.decl e(a: number, b: number)  .decl p(a: number, b: number)  .input e
              p(x, y) :- e(x, y).  p(x, z) :- p(x, y), e(y, z)."""
    assert warnings(text) == []


@pytest.mark.parametrize(
    "rule",
    [
        "n(x + 1) :- n(x), x < 10.",
        "n(y) :- n(x), y = x + 1, y < 10.",
        "n(y) :- n(x), y = x + 1, d(y).",
        "n(x + 1) :- n(x), d(x).",
        "n(x + 1) :- d(x).",
        "n(x / 2) :- n(x).",
        "n(x) :- n(x), m(y), y = x + 1.",
        "m(x + 1) :- n(x).",
    ],
)
def test_bounded_or_absent_recursion_is_not_warned_of(rule):
    text = f".decl n(a: number)  .decl m(a: number)  .decl d(a: number)  .input d, m  n(1).  {rule}"
    assert "D605" not in warnings(text)


def test_growth_through_two_relations_is_warned_of():
    text = ".decl n(a: number)  .decl m(a: number)  n(1).  m(x + 1) :- n(x).  n(x) :- m(x)."
    assert "D605" in warnings(text)
