"""Tokens have the kinds, texts and places of what the user wrote."""

import pytest

from tidelog.errors import Diagnostic
from tidelog.language.lexer import STRING, Token, decode_string, mistake, tokenize


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(text, "f")]


def test_tokens_know_their_line_and_column():
    tokens = tokenize("a(1).\n  bc :- d", "f")
    assert [(token.text, token.line, token.column, token.end_column) for token in tokens if token.kind == "name"] == [
        ("a", 1, 1, 2),
        ("bc", 2, 3, 5),
        ("d", 2, 9, 10),
    ]


def test_a_string_may_go_on_after_a_backslash_at_the_end_of_the_line():
    token = tokenize('"a\\\nb" x', "f")[0]
    assert decode_string(token) == "ab"
    assert (token.line, token.end_line) == (1, 2)


def test_comments_and_spliced_lines_leave_no_token():
    assert kinds("a // b \\\n still comment\n/* c\n d */ \\\n e") == ["name", "name", "end"]


@pytest.mark.parametrize("text", ["0", "12", "0x1F", "0b101", "7u", "0xFFu", "2.5", "1e9", "1.5E-3"])
def test_numbers_are_one_token(text):
    assert kinds(text) == ["number", "end"]


def test_a_dot_behind_a_number_ends_the_clause():
    assert kinds("x = 1.") == ["name", "=", "number", ".", "end"]


def test_a_known_directive_is_a_token_anywhere_and_an_unknown_one_at_the_start_of_a_line():
    assert kinds("p(1).decl q\n.foo x.foo") == ["name", "(", "number", ")", "directive", "name", *(
        "directive", "name", ".", "name", "end"
    )]  # fmt: skip


def test_windows_line_ends_count_as_one():
    assert tokenize("a\r\nb", "f")[1].line == 2


def test_a_preprocessor_line_is_one_token_with_its_spliced_lines():
    tokens = tokenize('p(1).\n  #define A "x\\\\" \\\n 2 // c\nq(2).', "f")
    line = next(token for token in tokens if token.kind == "hash_line")
    assert (line.line, line.column, line.end_line) == (2, 3, 3)
    assert tokens[tokens.index(line) + 1].line == 4


@pytest.mark.parametrize(
    ("text", "value"),
    [(r'"a\tb"', "a\tb"), (r'"\"\\"', '"\\'), (r'"\x41\u00e9\U0001F600"', "Aé😀"), ('"é"', "é"), (r'"\0"', "\0")],
)
def test_escapes_stand_for_characters(text, value):
    assert decode_string(tokenize(text, "f")[0]) == value


@pytest.mark.parametrize("text", [r'"\d"', r'"\x4"', r'"\ud800"', r'"\U99999999"'])
def test_other_escapes_are_reported(text):
    found = decode_string(tokenize(text, "f")[0])
    assert isinstance(found, Diagnostic)
    assert found.code == "D106"


@pytest.mark.parametrize(
    ("text", "code"), [('"abc', "D102"), ("/* abc", "D103"), ("§", "D105"), ("a == b", "D107"), ("1x", "D108")]
)
def test_what_is_no_token_is_kept_as_a_mistake(text, code):
    wrong = [token for token in tokenize(text, "f") if token.kind in ("unclosed_string", "unclosed_comment", "character", "foreign", "bad_number")]  # fmt: skip  # noqa: E501
    assert [mistake(token)[0].code for token in wrong] == [code]


def test_a_token_can_be_moved():
    token = Token(STRING, '"a"', "f", 1, 1, 1, 4)
    other = Token(STRING, '"b"', "g", 3, 5, 3, 9)
    assert token.moved(other.span).span == other.span
