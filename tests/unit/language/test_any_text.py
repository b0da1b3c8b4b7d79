"""Whatever the text: a program or a report, never a crash."""

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from tidelog.errors import Diagnostic, ProgramError
from tidelog.language.formatter import format_text
from tidelog.language.parser import parse, parse_query

WORDS = """
    p q x y _ ?v 1 2u 0x1F 1.5 99999999999999999999 "a" "b\\n" "\\q" ( ) ( ) [ ] { } , ; . . :- : ! = != < <= > >= <:
    + - * / % ^ ** | $ @ # band bnot lor count sum min max mean match contains true false nil as cat range == && 'c' é
    .decl .type .input .output .plan .pragma .comp .init .functor .lattice .once .foo choice domain brie number " /* */
    """
PIECES = st.sampled_from(
    [*WORDS.split(), "\n", "\n#define A(x) x\n", "\n#define B p(1)\n", "A(", "B", "\n#ifdef A\n", "\n#else\n",
       "\n#endif\n", "\n#include \"z\"\n", "// c\n", "p(x) :- q(x).", "p(1).", ".decl p(x: number)", "\\\n",
       "\n#undef A\n", "##"]
)  # fmt: skip
SOUP = st.lists(st.tuples(PIECES, st.sampled_from(["", " "])), max_size=25).map(
    lambda pieces: "".join(piece + space for piece, space in pieces)
)


@given(st.one_of(SOUP, st.text(max_size=40)))
@example("é\nnumber")  # a mistake at the very start of a clause once stopped the walk
def test_a_text_is_a_program_or_gets_a_report(text):
    findings = report(parse, text)
    lines = len(text.splitlines()) or 1
    assert all(finding.message and 1 <= finding.span.line <= lines for finding in findings)
    if not findings:
        formatted = format_text(text)
        assert format_text(formatted) == formatted


@given(st.one_of(SOUP, st.text(max_size=40)))
@example(".plan: -")
@example('p("x   ')
@example("  .foo\n\n\n  ' : -\\")
@example("##\\\n ")
@example("//\\\n ")
def test_what_a_condition_leaves_out_is_formatted_once_for_all(text):
    left_out = f"#ifdef NOWHERE\n{text}\n#endif\n"
    if not report(parse, left_out):
        formatted = format_text(left_out)
        assert format_text(formatted) == formatted


@given(st.one_of(SOUP, st.text(max_size=40)))
def test_a_query_is_an_atom_or_gets_a_report(text):
    report(parse_query, text)


def report(read: Callable[[str], object], text: str) -> tuple[Diagnostic, ...]:
    """What `read` says about `text`; nothing when it could read it."""
    try:
        read(text)
    except ProgramError as error:
        return error.diagnostics
    return ()
