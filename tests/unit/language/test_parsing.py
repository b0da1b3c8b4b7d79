"""The parser gives the tree that the text says."""

import sys

import pytest

from tidelog.errors import InputError, ProgramError
from tidelog.language.parser import parse, parse_file
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    AttributeDeclaration,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Directive,
    DirectiveKind,
    Disjunction,
    Literal,
    Negation,
    OrderHint,
    Pragma,
    RelationDeclaration,
    Term,
    Test,
    Truth,
    TypeDeclaration,
    TypeForm,
    Variable,
    Wildcard,
)
from tidelog.schema import Kind

X, Y, Z = Variable("x"), Variable("y"), Variable("z")
P, Q, R = Atom("p", (X,)), Atom("q", (X,)), Atom("r", (X,))


def number(value: int) -> Constant:
    return Constant(value, None)


def body(text: str) -> tuple[Literal, ...]:
    (rule,) = parse(f"h(x) :- {text}.").rules
    return rule.body


def term(text: str) -> Term:
    (rule,) = parse(f"h({text}).").rules
    return rule.heads[0].arguments[0]


def item(text: str):
    (only,) = parse(text).items
    return only


def codes(text: str) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    return [finding.code for finding in caught.value.diagnostics]


def test_a_declaration_has_attributes_and_qualifiers():
    columns = (AttributeDeclaration("x", "number"), AttributeDeclaration("count", "Name"))
    assert item(".decl edge(x: number, count: Name) brie no_inline") == RelationDeclaration(
        "edge", columns, ("brie", "no_inline")
    )


def test_several_names_in_one_declaration_are_several_relations():
    assert parse(".decl a, b(x: number)") == parse(".decl a(x: number)\n.decl b(x: number)")


def test_old_qualifiers_are_directives():
    assert parse(".decl a(x: number) input output") == parse(".decl a(x: number)\n.input a\n.output a")


def test_a_relation_may_have_no_attributes():
    assert item(".decl ready()") == RelationDeclaration("ready", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".type A <: number", TypeDeclaration("A", TypeForm.SUBTYPE, ("number",))),
        (".type A = B", TypeDeclaration("A", TypeForm.ALIAS, ("B",))),
        (".type A = B | C", TypeDeclaration("A", TypeForm.UNION, ("B", "C"))),
        (".number_type A", TypeDeclaration("A", TypeForm.SUBTYPE, ("number",))),
        (".symbol_type A", TypeDeclaration("A", TypeForm.SUBTYPE, ("symbol",))),
    ],
)
def test_types(text, expected):
    assert item(text) == expected


def test_parameters_are_text_and_belong_to_the_relations_before_them():
    text = '.input a, b(IO=file, delimiter="\\t", columns=-1, headers=true), c'
    given = (("IO", "file"), ("delimiter", "\t"), ("columns", "-1"), ("headers", "true"))
    assert parse(text).items == (
        Directive(DirectiveKind.INPUT, ("a", "b"), given),
        Directive(DirectiveKind.INPUT, ("c",)),
    )


def test_limits_and_pragmas():
    assert item(".limitsize a(n=10)") == Directive(DirectiveKind.LIMITSIZE, ("a",), (("n", "10"),))
    assert item('.pragma "legacy" "on"') == Pragma("legacy", "on")
    assert item('.pragma "legacy"') == Pragma("legacy")


def test_a_plan_belongs_to_the_rule_before_it():
    rule = item("p(x) :- q(x), r(x). .plan 0:(2,1), 1:()")
    assert rule.plan == OrderHint(((0, (2, 1)), (1, ())))


def test_rules_are_numbered_from_one():
    assert [rule.id for rule in parse("p(1). .decl q(x: number)\nq(1). p(x) :- q(x).").rules] == [1, 2, 3]


def test_a_rule_may_have_several_heads():
    assert item("p(x), q(x) :- r(x).").heads == (P, Q)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(x), q(x)", (P, Q)),
        ("p(x); q(x), r(x)", (Disjunction(((P,), (Q, R))),)),
        ("p(x), (q(x); r(x))", (P, Disjunction(((Q,), (R,))))),
        ("(p(x), q(x)), r(x)", (P, Q, R)),
        ("p(x); (q(x); r(x))", (Disjunction(((P,), (Q,), (R,))),)),
        ("((p(x)))", (P,)),
        ("!p(x)", (Negation(P),)),
        ("!!p(x)", (P,)),
        ("!(p(x), !q(x))", (Disjunction(((Negation(P),), (Q,))),)),
        ("!(p(x); q(x))", (Negation(P), Negation(Q))),
        ("!(x < 1)", (Comparison(ComparisonOperator.GREATER_EQUAL, X, number(1)),)),
        ("!(x = 1; p(x), q(x))", (
            Comparison(ComparisonOperator.NOT_EQUAL, X, number(1)),
            Disjunction(((Negation(P),), (Negation(Q),))),
        )),
        ("!match(x, y)", (Test("match", (X, Y), negated=True),)),
        ("!!contains(x, y)", (Test("contains", (X, Y)),)),
        ("true, !true", (Truth(True), Truth(False))),
        ("(x + 1) > y", (Comparison(ComparisonOperator.GREATER, Call("+", (X, number(1))), Y),)),
        ("((x) = (y))", (Comparison(ComparisonOperator.EQUAL, X, Y),)),
        ("cat(x, y) = z", (Comparison(ComparisonOperator.EQUAL, Call("cat", (X, Y)), Z),)),
        ("ready()", (Atom("ready", ()),)),
    ],
)  # fmt: skip
def test_bodies(text, expected):
    assert body(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", number(12)),
        ("-12", number(-12)),
        ("0x1f", number(31)),
        ("-0b101", number(-5)),
        ("7u", Constant(7, Kind.UNSIGNED)),
        ("0xFFFFFFFFFFFFFFFF", number(2**64 - 1)),
        ("-9223372036854775808", number(-(2**63))),
        ("2.5", Constant(2.5, Kind.FLOAT)),
        ("-1e-3", Constant(-0.001, Kind.FLOAT)),
        ('"a\\"b"', Constant('a"b', Kind.SYMBOL)),
        ("_", Wildcard()),
        ("?who", Variable("?who")),
        ("_x", Variable("_x")),
        ("as(x, Node)", Cast(X, "Node")),
        ("min(x, y, z)", Call("min", (X, Y, Z))),
    ],
)
def test_constants_and_simple_terms(text, expected):
    assert term(text) == expected


def test_a_negative_zero_is_zero():
    assert str(term("-0.0").value) == "0.0"


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("x + y * z", "x + (y * z)"),
        ("x - y - z", "(x - y) - z"),
        ("x ^ y ^ z", "x ^ (y ^ z)"),
        ("x ** y", "x ^ y"),
        ("-x ^ y", "-(x ^ y)"),
        ("x ^ -y", "x ^ (-y)"),
        ("-x * y", "(-x) * y"),
        ("x % y / z", "(x % y) / z"),
        ("x bshl y + z", "x bshl (y + z)"),
        ("x band y bshr z", "x band (y bshr z)"),
        ("x bor y bxor z band x", "x bor (y bxor (z band x))"),
        ("x lor y lxor z land x", "x lor (y lxor (z land x))"),
        ("x land y bor z", "x land (y bor z)"),
        ("bnot x + y", "(bnot x) + y"),
        ("lnot x ^ y", "lnot (x ^ y)"),
        ("x bshru y bshl z", "(x bshru y) bshl z"),
    ],
)
def test_operators_bind_as_in_souffle(text, grouped):
    assert term(text) == term(grouped)


def test_minus_before_a_number_makes_a_constant_and_before_parentheses_a_call():
    assert term("x - 5") == Call("-", (X, number(5)))
    assert term("- 5") == number(-5)
    assert term("-(5)") == Call("neg", (number(5),))
    assert term("-5 ^ 2") == Call("neg", (Call("^", (number(5), number(2))),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("count : { p(x) }", Aggregate(AggregateFunction.COUNT, None, (P,))),
        ("count : p(x)", Aggregate(AggregateFunction.COUNT, None, (P,))),
        ("sum x + 1 : { p(x), x > 1 }", Aggregate(AggregateFunction.SUM, Call("+", (X, number(1))), (
            P, Comparison(ComparisonOperator.GREATER, X, number(1))))),
        ("max (x + 1) * 2 : { p(x) }", Aggregate(
            AggregateFunction.MAX, Call("*", (Call("+", (X, number(1))), number(2))), (P,))),
        ("min min(x, y) : { p(x); q(x) }", Aggregate(
            AggregateFunction.MIN, Call("min", (X, Y)), (Disjunction(((P,), (Q,))),))),
        ("mean x : p(x) + 1", Call("+", (Aggregate(AggregateFunction.MEAN, X, (P,)), number(1)))),
    ],
)  # fmt: skip
def test_aggregates(text, expected):
    assert term(text) == expected


def test_function_names_may_be_variables_and_attributes():
    assert parse("p(range, ord) :- q(range, ord), ord = 1.")


def test_a_whole_program_without_line_ends():
    assert parse("p(1).q(2).p(x):-q(x)..decl p(x:number)") == parse("p(1). q(2). p(x) :- q(x).\n.decl p(x: number)")


def test_places_cover_what_they_name():
    (rule,) = parse("p(x) :-\n  q(x), x > 1 + 2.").rules
    atom, comparison = rule.body
    assert (rule.span.line, rule.span.column, rule.span.end_line, rule.span.end_column) == (1, 1, 2, 19)
    assert (atom.span.line, atom.span.column, atom.span.end_column) == (2, 3, 7)
    assert (comparison.right.span.column, comparison.right.span.end_column) == (13, 18)


def test_every_mistake_of_a_text_is_reported():
    assert codes("p(1.\nq(2)).\n.ouput p\np(x) :- q(x), .\np(1) :- x == 2.\n.decl p(x)\np(1).") == [
        "D104", "D118", "D110", "D119", "D107", "D120",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "p(" + "(" * 5000 + "1" + ")" * 5000 + ").",
        "p(x) :- " + "(" * 5000 + "q(x)" + ")" * 5000 + ".",
        "p(x) :- " + "!" * 5000 + "q(x).",
        "p(" + "-" * 5000 + "x).",
        "p(" + "f(" * 5000 + "x" + ")" * 5000 + ").",
        "p(" + "2 ^ " * 5000 + "x).",
        "p(" + "1 + " * 5000 + "x).",
        "p(" + "count : { x = " * 5000 + "1" + "}" * 5000 + ").",
        "p(" + "(1 lor 2 lxor 3 land 4 bor 5 bxor 6 band 7 bshl 8 + 9 * " * 500 + "1" + ")" * 500 + ").",
    ],
)
def test_deep_nesting_is_a_report_and_no_crash(text):
    assert set(codes(text)) == {"D115"}


@pytest.mark.parametrize("depth", [20, 60])
def test_moderate_nesting_is_fine_even_far_down_the_stack(depth):
    def from_below(levels: int) -> object:
        return from_below(levels - 1) if levels else term("(" * depth + "x" + ")" * depth)

    assert from_below(sys.getrecursionlimit() // 5) == X


@pytest.mark.parametrize(
    "text",
    [
        ".comp A<T> : B<T> { .decl p(x: T)\np(1). .comp C { } }",
        ".init a = A<number>",
        ".type P = [a: number, b: P]",
        ".type T = A {} | B { x: number, y: T }",
        ".functor f(x: number, symbol): number stateful",
        ".lattice L<> { Bottom -> 0, Glb -> @glb(_, _) }",
        "p(x) <= p(y) :- x < y.",
        ".decl p(x: number, y: number) choice-domain x, (x, y) brie",
        "p([1, [2, 3]]).",
        "p(nil).",
        "p($A(1, $B)).",
        "p(@f(1)).",
        "p(x) :- a.b(x).",
        ".input a.b",
    ],
)
def test_what_is_for_later_is_reported_as_such_and_skipped_whole(text):
    found = codes(text + "\nq(1).\nq(2\n.decl r(x: number)\n")
    assert set(found[:-1]) == {"D190"}
    assert found[-1] == "D104"


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.dl: the program cannot be read"):
        parse_file(tmp_path / "nowhere.dl")
    (tmp_path / "latin.dl").write_bytes(b'p("\xe9").')
    with pytest.raises(InputError, match="save it as UTF-8"):
        parse_file(tmp_path / "latin.dl")


def test_the_texts_of_a_program_are_kept_for_reports():
    assert parse("p(1).", "a.dl").texts == (("a.dl", "p(1)."),)
