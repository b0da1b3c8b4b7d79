"""A query is one atom of constants, variables and `_`."""

import pytest

from tidelog.errors import ProgramError
from tidelog.language.parser import parse_query
from tidelog.language.syntax_tree import Atom, Constant, Variable, Wildcard
from tidelog.schema import Kind


@pytest.mark.parametrize("text", ['path("a", X, -1, _)', ' path("a",X,-1,_). '])
def test_a_query_is_an_atom(text):
    assert parse_query(text) == Atom(
        "path", (Constant("a", Kind.SYMBOL), Variable("X"), Constant(-1, None), Wildcard())
    )


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("", "D100", "name of a relation"),
        ("path", "D116", "alone is not an atom"),
        ("path(x", "D104", "never closed"),
        ("path(x), edge(x)", "D150", "one atom"),
        ("path(x) :- edge(x)", "D150", "one atom"),
        ("path(x + 1)", "D151", "constants, variables"),
        ("!path(x)", "D100", "name of a relation"),
        ('path("a)', "D102", "string"),
    ],
)
def test_anything_else_is_reported(text, code, word):
    with pytest.raises(ProgramError, match=word) as caught:
        parse_query(text)
    assert caught.value.diagnostics[0].code == code
