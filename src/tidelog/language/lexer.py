"""Tokens of a text, each with its place. Takes a text, returns tokens; what is wrong becomes a token of its own kind.

A mistake is not reported here: it may stand in a region that `#ifdef` leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from tidelog.errors import Diagnostic
from tidelog.language.words import DIRECTIVES, LATER_DIRECTIVES
from tidelog.span import Span


class Token(NamedTuple):
    """A piece of text. `kind` is a group of `TOKENS`, or the text itself for operators and punctuation."""

    kind: str
    text: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def span(self) -> Span:
        return Span(self.file, self.line, self.column, self.end_line, self.end_column)

    @property
    def end_span(self) -> Span:
        """The place just behind the token."""
        return Span(self.file, self.end_line, self.end_column, self.end_line, self.end_column + 1)

    def moved(self, span: Span) -> Token:
        """The same token at another place."""
        return Token(self.kind, self.text, span.file, span.line, span.column, span.end_line, span.end_column)

    def touches(self, following: Token) -> bool:
        """Whether `following` begins exactly where this token ends."""
        return (self.file, self.end_line, self.end_column) == (following.file, following.line, following.column)


NAME, NUMBER, STRING, DIRECTIVE, HASH_LINE, COMMENT, END = (
    "name",
    "number",
    "string",
    "directive",
    "hash_line",
    "comment",
    "end",
)

TOKENS = re.compile(
    rf"""
    (?P<hash_line> ^[ \t]*\#(?:\\\r?\n|/\*(?s:.)*?\*/|//(?:\\\r?\n|[^\r\n])*|"(?:[^"\\\r\n]|\\.)*"|[^\r\n])* )
    | (?:[ \t\f\v]|\r?\n(?![ \t]*\#))*+ (?:
      (?P<space> \r?\n|\r|\\[ \t]*\r?\n|\Z )
    | (?P<name> [A-Za-z_?][A-Za-z0-9_?]* )
    | (?P<number> (?: 0[xX][0-9a-fA-F]+u? | 0[bB][01]+u? | [0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?
                  | [0-9]+[eE][+-]?[0-9]+ | [0-9]+u? ) (?![A-Za-z0-9_]) )
    | (?P<directive> \.(?:{"|".join([*DIRECTIVES, *LATER_DIRECTIVES])})(?![A-Za-z0-9_?]) | ^\.[a-z]\w* )
    | (?P<comment> //(?:\\\r?\n|[^\r\n])* | /\*(?s:.)*?\*/ )
    | (?P<string> "(?:[^"\\\r\n]|\\\r?\n|\\.)*" )
    | (?P<single_quoted> '[^'\r\n]*' )
    | (?P<unclosed_comment> /\*(?s:.)* )
    | (?P<foreign> ==|&&|\|\||<>|=<|=>|->|\\\+ )
    | (?P<operator> :-|<=|>=|!=|<:|\*\*|\#\#|[-()\[\]{{}},.;:!=<>+*/%^|$@\#] )
    | (?P<unclosed_string> "[^\r\n]* )
    | (?P<bad_number> [0-9][A-Za-z0-9_]* )
    | (?P<character> (?s:.) ) )
    """,
    re.VERBOSE | re.MULTILINE,
)


def tokenize(text: str, file: str) -> list[Token]:
    """The tokens of `text` without spaces and comments, closed by one of kind END."""
    tokens = [token for token in scan(text, file) if token.kind != COMMENT]
    tokens.append(end_token(text, file))
    return tokens


def scan(text: str, file: str, start: int = 0, line: int = 1, column: int = 1) -> Iterator[Token]:
    """The tokens and comments of `text` from `start` on; the text itself begins at `line` and `column` of the file."""
    # Lines are those of str.splitlines, because error reports show them so.
    starts = [*accumulate((len(piece) for piece in text.splitlines(keepends=True)), initial=0), len(text) + 1]
    row = 0
    line_start, next_start = 1 - column, starts[1]
    for match in TOKENS.finditer(text, start):
        kind = match.lastgroup
        if kind == "space":
            continue
        assert kind is not None
        begin, end = match.span(kind)
        while begin >= next_start:
            row += 1
            line_start, next_start = starts[row], starts[row + 1]
        piece = match[kind]
        if kind == "operator":
            kind = piece
        elif kind == "hash_line":
            begin += len(piece) - len(piece.lstrip(" \t"))
            piece = piece.lstrip(" \t")
        first, first_column = line + row, begin - line_start + 1
        # A token may end with a line end that a backslash makes part of it: then it ends at the start of the next line.
        while end > next_start or (end == next_start and piece.endswith("\n")):
            row += 1
            line_start, next_start = starts[row], starts[row + 1]
        yield tuple.__new__(Token, (kind, piece, file, first, first_column, line + row, end - line_start + 1))


def end_token(text: str, file: str) -> Token:
    """The token behind the last character of `text`."""
    lines = text.splitlines() or [""]
    column = len(lines[-1].rstrip()) + 1
    return Token(END, "", file, len(lines), column, len(lines), column)


FOREIGN_SPELLINGS = {
    "==": ("=", "write '=' to compare for equality"),
    "&&": (",", "write ',' between literals that must all hold"),
    "||": (";", "write ';' between alternatives"),
    "<>": ("!=", "write '!=' for 'not equal'"),
    "=<": ("<=", "write '<=' for 'less or equal'"),
    "=>": (">=", "write '>=' for 'greater or equal', or turn the rule round: 'head :- body.'"),
    "->": (":-", "turn the rule round: 'head :- body.'"),
    "\\+": ("!", "write '!' to negate"),
}
"""Operators of other languages, each with the one to read in its place and what to tell the user."""


MISTAKES = frozenset(["unclosed_string", "unclosed_comment", "single_quoted", "bad_number", "foreign", "character"])


def mistake(token: Token) -> tuple[Diagnostic, Token | None]:
    """The report for a token of a kind in `MISTAKES`, and the token to read in its place, if any."""
    match token.kind:
        case "unclosed_string":
            hint = "close it with '\"' on the same line; write \\n for a line break and \\\" for a quote"
            finding = Diagnostic("D102", "this string is never closed", token.span, hint)
            return finding, token._replace(kind=STRING, text='""')
        case "unclosed_comment":
            opening = Span(token.file, token.line, token.column, token.line, token.column + 2)
            return Diagnostic("D103", "this comment is never closed", opening, "close it with '*/'"), None
        case "single_quoted":
            finding = Diagnostic("D128", "a string stands in double quotes", token.span, f'write "{token.text[1:-1]}"')
            return finding, token._replace(kind=STRING, text='""')
        case "bad_number":
            hint = "numbers look like 12, 0x1F, 0b101, 7u, 2.5 or 1e9; names begin with a letter"
            finding = Diagnostic("D108", f"'{token.text}' is not a number", token.span, hint)
            return finding, token._replace(kind=NUMBER, text="0")
        case "foreign":
            meant, hint = FOREIGN_SPELLINGS[token.text]
            finding = Diagnostic("D107", f"'{token.text}' is not an operator here", token.span, hint)
            return finding, token._replace(kind=meant, text=meant)
        case _:
            return Diagnostic("D105", f"unexpected character {token.text!r}", token.span, character_hint(token)), None


def character_hint(token: Token) -> str:
    match token.text:
        case "'" | "‘" | "’" | "“" | "”" | "`":
            return 'strings stand in double quotes: "text"'
        case "~" | "¬":
            return "write '!' to negate"
        case "\\":
            return "a backslash joins two lines only when it is the last character of the first"
        case letter if letter.isalpha():
            return "names are made of the letters a-z and A-Z, digits, '_' and '?'; other letters go in strings"
        case _:
            return "remove it"


ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0",
    '"': '"', "'": "'", "\\": "\\", "\n": "", "\r\n": "",
}  # fmt: skip

ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|\r?\n|(?s:.))")


def decode_string(token: Token) -> str | Diagnostic:
    """The text that a string token stands for, or what is wrong with it."""
    body = token.text[1:-1]
    if "\\" not in body:
        return body
    for match in ESCAPE.finditer(body):
        if unescape(match) is None:
            column = token.column + 1 + match.start() if token.line == token.end_line else token.column
            span = Span(token.file, token.line, column, token.line, column + len(match[0]))
            hint = 'write \\\\ for a backslash; known are \\n \\t \\r \\0 \\" \\\\ \\x41 \\u0041'
            return Diagnostic("D106", f"unknown escape '{match[0]}' in a string", span, hint)
    return ESCAPE.sub(lambda match: unescape(match) or "", body)


def unescape(match: re.Match[str]) -> str | None:
    """The character that an escape stands for; None when there is none."""
    escape = match[1]
    if escape in ESCAPES:
        return ESCAPES[escape]
    if len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else None
    return None
