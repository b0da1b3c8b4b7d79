"""`format_text` changes spaces and line ends, nothing else."""

import pytest

from tidelog.errors import ProgramError
from tidelog.language.formatter import format_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(x):-q(x),x>1,!r(x,_).", "p(x) :- q(x), x > 1, !r(x, _).\n"),
        (".decl  edge( a:number,b :symbol )brie", ".decl edge(a: number, b: symbol) brie\n"),
        (".type A<:number\n.type B=A|number", ".type A <: number\n.type B = A | number\n"),
        ('.input e( IO = file , delimiter="," )', '.input e(IO=file, delimiter=",")\n'),
        ("p(x) :- q(x) .\n.plan 0:( 2 , 1 ),1:(1)", "p(x) :- q(x).\n    .plan 0:(2,1), 1:(1)\n"),
        ("p(- x+ -1-y*( 2 -3)).", "p(-x + -1 - y * (2 - 3)).\n"),
        ("p(bnot  x band(y)).", "p(bnot x band (y)).\n"),
        ("p(c):-c=count:{q( _ )},d=max(c,2),e=min (c):q(c).",
         "p(c) :- c = count : { q(_) }, d = max(c, 2), e = min (c) : q(c).\n"),
        ("p(x):-(q(x);r(x)),!(s(x)).", "p(x) :- (q(x); r(x)), !(s(x)).\n"),
        ("p(1).p(2).   p(3).", "p(1). p(2). p(3).\n"),
        ("p(1). .output p", "p(1).\n.output p\n"),
        ("p(1).\n\n\n\np(2).", "p(1).\n\np(2).\n"),
        ("+ p(x),-q(x):-r(x).[ priority - 10,name a ]", "+p(x), -q(x) :- r(x). [priority -10, name a]\n"),
        ("+p(priority-10):-q(priority),priority-10<3.[priority 1]",
         "+p(priority - 10) :- q(priority), priority - 10 < 3. [priority 1]\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_layout(text, expected):
    assert format_text(text) == expected
    assert format_text(expected) == expected


def test_a_priority_below_zero_stays_whole_where_a_rule_has_several_lines():
    text = "+p(x) :-\n q(x), r(x).\n[priority - 10]"
    assert format_text(text) == "+p(x) :-\n    q(x),\n    r(x). [priority -10]\n"


def test_a_rule_with_a_line_end_gets_a_line_for_each_literal():
    text = "p(x) :- q(x),\n (r(x), s(x);\n t(x))."
    assert format_text(text) == "p(x) :-\n    q(x),\n    (r(x), s(x); t(x)).\n"


def test_a_rule_that_is_too_long_gets_a_line_for_each_literal():
    literals = [f"some_relation_{number}(x, y)" for number in range(6)]
    formatted = format_text(f"p(x, y) :- {', '.join(literals)}.")
    assert formatted == "p(x, y) :-\n    " + ",\n    ".join(literals) + ".\n"


def test_comments_stay_with_what_they_are_about():
    text = "// first\n.decl p(x:number) // about p\n/* a\n   b */\n"
    text += "p(x) :- q(x), // why q\n // own line\n r(x). // end\n// last"
    assert format_text(text) == (
        "// first\n.decl p(x: number)  // about p\n/* a\n   b */\n"
        "p(x) :-\n    q(x),  // why q\n    // own line\n    r(x).  // end\n// last\n"
    )


def test_attributes_with_comments_get_a_line_each():
    text = ".decl p(x:number, // one\ny:number)"
    assert format_text(text) == ".decl p(\n    x: number,  // one\n    y: number\n)\n"


def test_preprocessor_lines_stay_as_they_are():
    text = "#define  PAIR(a,b)  p(a,b), \\\n    p(b,a)\n#ifdef X\np(1, 2).\n#endif\nPAIR( 1,2 ).\n"
    assert format_text(text) == text.replace("PAIR( 1,2 )", "PAIR(1, 2)")


def test_a_macro_that_is_a_whole_clause_keeps_its_line():
    text = "#define FACT(x) p(x).\nFACT(1)\nFACT(2)\np(3).\n"
    assert format_text(text) == text


def test_strings_are_not_touched():
    text = 'p("a ,b( //c").\n'
    assert format_text(text) == text


def test_a_text_that_does_not_parse_is_refused():
    with pytest.raises(ProgramError):
        format_text("p(1")
