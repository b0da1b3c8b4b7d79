"""Rules built in Python are the rules of the same text."""

import linecache

import pytest

from tidelog.errors import ProgramError, UsageError
from tidelog.language.embedded import (
    anything,
    cast,
    count,
    fn,
    max_,
    mean,
    min_,
    rules,
    sum_,
    unsigned,
    variables,
)
from tidelog.language.parser import parse

x, y, z = variables("x y, z")
nothing = rules()
edge = nothing.relation("edge", a="number", b="number")


def builder():
    p = rules()
    return p, p.relation("edge", a="number", b=int), p.relation("path", a="number", b="number")


DECLARATIONS = ".decl edge(a: number, b: number)\n.decl path(a: number, b: number)\n"


def test_a_whole_program_equals_its_text():
    p, edge, path = builder()
    p.rule(path(x, y), edge(x, y))
    p.rule(path(x, z), path(x, y), edge(y, z), plan={0: (2, 1)})
    p.output(path, filename="path.csv", headers=True)
    p.fact(edge(1, 2), edge(2, -3))
    assert p.program() == parse(
        DECLARATIONS
        + """
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z). .plan 0:(2,1)
        .output path(filename="path.csv", headers=true)
        edge(1, 2).
        edge(2, -3).
        """
    )


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (~edge(x, y), "!edge(x, y)"),
        (~~edge(x, y), "edge(x, y)"),
        (~(edge(x, y) & edge(y, x)), "!(edge(x, y), edge(y, x))"),
        (edge(x, y) | edge(y, x) & (x < y), "edge(x, y); edge(y, x), x < y"),
        (edge(x, anything) | False, "edge(x, _); false"),
        (x != 3, "x != 3"),
        (1 - x >= 3, "1 - x >= 3"),
        (x == y, "x = y"),
        (x + 1 > 2 * y - -3, "x + 1 > 2 * y - -3"),
        (-(x**2) == y % 2 / 3, "-x ^ 2 = y % 2 / 3"),
        ((x & y | z ^ 1) << 2 == ~x >> 1, "(x band y bor z bxor 1) bshl 2 = bnot x bshr 1"),
        (x == fn.cat("a", fn.to_string(y)), 'x = cat("a", to_string(y))'),
        (x == fn.range(1, 5), "x = range(1, 5)"),
        (~fn.match("a.*", x), '!match("a.*", x)'),
        (x == count(edge(x, anything)), "x = count : { edge(x, _) }"),
        (x == sum_(z + 1, edge(x, z), z > 1), "x = sum z + 1 : { edge(x, z), z > 1 }"),
        (min_(z, edge(x, z)) == max_(z, edge(x, z)), "min z : { edge(x, z) } = max z : { edge(x, z) }"),
        (mean(z, edge(x, z)) > 0.5, "mean z : { edge(x, z) } > 0.5"),
        (x == unsigned(7), "x = 7u"),
        (x == cast(y, "Node"), "x = as(y, Node)"),
        (True, "true"),
    ],
)
def test_conditions_equal_their_text(condition, text):
    p, _, path = builder()
    p.rule(path(x, y), condition)
    assert p.program() == parse(f"{DECLARATIONS}path(x, y) :- {text}.")


def test_several_heads_types_and_directives():
    p = rules()
    p.subtype("Node", "number")
    p.alias("Vertex", "Node")
    p.union("Any", "Node", str)
    a = p.relation("a", "brie", "no_inline", x="Node")
    p.rule([a(x), a(y)], a(x + y))
    p.input(a)
    p.printsize(a)
    p.limitsize(a, n=5)
    p.pragma("legacy", "on")
    assert p.program() == parse(
        """
        .type Node <: number .type Vertex = Node .type Any = Node | symbol
        .decl a(x: Node) brie no_inline
        a(x), a(y) :- a(x + y).
        .input a .printsize a .limitsize a(n=5) .pragma "legacy" "on"
        """
    )


def test_rules_that_act_equal_their_text():
    p = rules()
    p.production("instance", "refraction")
    request, closed, opened = (p.relation(name, x="number") for name in ("request", "closed", "opened"))
    p.rule([+opened(x), -closed(x)], request(x), closed(x), name="opening", priority=-10, before=["served"])
    p.rule(-request(x), request(x), ~closed(x), name="served")
    p.rule(+request(1))
    assert p.program() == parse(
        ".production instance refraction\n"
        ".decl request(x: number)\n.decl closed(x: number)\n.decl opened(x: number)\n"
        "+opened(x), -closed(x) :- request(x), closed(x). [name opening, priority -10, before served]\n"
        "-request(x) :- request(x), !closed(x). [name served]\n"
        "+request(1)."
    )


def test_places_are_those_of_the_python_text():
    p, edge, path = builder()
    p.rule(path(x, y), edge(x, y))  # this line
    program = p.program()
    (rule,) = program.rules
    assert rule.span.file == __file__
    line = linecache.getline(__file__, rule.span.line)
    assert line.endswith("# this line\n")
    assert line[rule.body[0].span.column - 1 : rule.body[0].span.end_column - 1] == "edge(x, y)"
    assert rule.body[0].arguments[0].span.line == rule.span.line
    assert dict(program.texts)[__file__].splitlines()[rule.span.line - 1] + "\n" == line


def test_rules_are_numbered_in_the_order_of_the_calls():
    p, edge, path = builder()
    p.fact(edge(1, 2))
    p.rule(path(x, y), edge(x, y))
    assert [rule.id for rule in p.program().rules] == [1, 2]


def test_python_truth_of_a_condition_is_refused():
    with pytest.raises(UsageError, match="chain such as"):
        1 < x < 5  # noqa: B015
    with pytest.raises(UsageError, match="no truth value"):
        bool(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nothing.relation("count", a="number"), "word of the language"),
        (lambda: nothing.relation("my rel", a="number"), "cannot name a relation"),
        (lambda: nothing.relation("r", "quick", a="number"), "unknown qualifier"),
        (lambda: nothing.relation("r", a=bytes), "not a type"),
        (lambda: nothing.fact(x < y), "must be one atom"),
        (lambda: nothing.rule(~edge(x, y), edge(x, y)), "must be one atom"),
        (lambda: nothing.rule(edge(x, y), x), "not a condition"),
        (lambda: nothing.rule([]), "needs a head"),
        (lambda: nothing.rule([+edge(x, y), edge(y, x)], edge(x, y)), "have a sign and others"),
        (lambda: nothing.rule(edge(x, y), edge(x, y), priority=1), "are for rules that act"),
        (lambda: nothing.rule(+edge(x, y), edge(x, y), priority=True), "a whole number"),
        (lambda: nothing.rule(+edge(x, y), edge(x, y), before="a"), "lists of names"),
        (lambda: nothing.rule(+edge(x, y), edge(x, y), name="a b"), "cannot name a rule"),
        (lambda: nothing.rule(+edge(x, y), +edge(x, y)), "not a condition"),
        (lambda: +(edge(x, y) | edge(y, x)), "must be one atom"),
        (lambda: nothing.production("all"), "known are set, instance, parallel"),
        (lambda: nothing.production("set", "refraction"), "behind 'instance'"),
        (lambda: nothing.output(), "at least one relation"),
        (lambda: edge(1, True), "not a value"),
        (lambda: edge(1, None), "not a value"),
        (lambda: edge(1, 2**64), "64 bits"),
        (lambda: edge(1, float("nan")), "NaN"),
        (lambda: edge(1, [2]), "not a value"),
        (lambda: count(), "needs a body"),
        (lambda: variables("1x"), "cannot name a variable"),
        (lambda: unsigned(-1), "unsigned"),
    ],
)
def test_wrong_calls_are_usage_errors(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_an_unknown_function_names_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'strlen'"):
        fn.strlenn(x)


def test_an_expression_that_is_too_deep_is_a_report():
    p, edge, _ = builder()
    deep = x
    for _ in range(3000):
        deep = deep + 1
    p.rule(edge(deep, y), edge(x, y))
    with pytest.raises(ProgramError, match="levels deep"):
        p.program()
