"""The printer writes what one would write by hand."""

import pytest

from tidelog.language.functions import FUNCTIONS, TESTS
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.language.words import RESERVED_FOR_RELATIONS


@pytest.mark.parametrize(
    "text",
    [
        ".decl edge(a: number, b: Node) brie no_inline",
        ".decl same(a: number, b: number) eqrel",
        ".type A = B | C",
        '.output path(delimiter="\\t", IO="file")',
        '.pragma "legacy"',
        "edge(1, -2).",
        'p("a\\"b\\\\\\n\\x00").',
        "p(x), q(x) :- r(x), !s(x, _), x != 3.",
        "p(x) :- q(x); r(x), s(x).",
        "p(x) :- q(x), (r(x); s(x)).",
        "p((x + 1) * 2 - y, -x ^ 2, (-2) ^ x, x - (y - z), -(5), - -5, bnot (x band y)).",
        "p(x) :- x = count : { q(_) } + sum y * 2 : { q(y), y > 1; r(y) }.",
        "p(7u, 1e+20, 0.5, as(x, Node), min(x, y)).",
        'p(x) :- match("a.*", x), !contains("b", x), true.',
        "p(x) :- q(x), r(x).\n.plan 0:(2,1), 1:(1,2)",
    ],
)
def test_canonical_text_is_printed_as_it_stands(text):
    assert print_program(parse(text)) == text.replace("- -5", "--5") + "\n"


def test_what_is_not_canonical_is_made_so():
    assert print_program(parse("p(x):-((q(x))),!(r(x);s(x)),y=0x10**2.")) == (
        "p(x) :- q(x), !r(x), !s(x), y = 16 ^ 2.\n"
    )


def test_no_function_can_be_taken_for_a_relation():
    names = {name for name in [*FUNCTIONS, *TESTS] if name.isidentifier()} - {"neg"}
    assert names <= RESERVED_FOR_RELATIONS
