"""Where a space stands between two tokens of a laid-out text."""

from __future__ import annotations

from itertools import pairwise

from tidelog.language.lexer import COMMENT, DIRECTIVE, NAME, NUMBER, STRING, Token
from tidelog.language.words import AGGREGATES, BINARY_OPERATORS, PREFIX_OPERATORS


def join(tokens: list[Token], item: list[Token] | None = None) -> str:
    """`tokens` on one line. `item` is the whole item they are part of, where that is more."""
    whole = tokens if item is None else item
    is_directive = whole[0].kind == DIRECTIVE
    is_plan = whole[0].text == ".plan"
    is_type = whole[0].text in (".type", ".number_type", ".symbol_type")
    precedence = precedence_of(whole)
    text = ""
    before: Token | None = None
    previous: Token | None = None
    for token in tokens:
        if previous is not None:
            glued = (
                is_glued(before, previous, token)
                or (previous.kind == "-" and previous in precedence)
                or (is_directive and token.kind == ":")
                or (
                    is_plan
                    and (previous.kind == ":" or (previous.kind == "," and before is not None and is_number(before)))
                )
                or (is_directive and not is_type and "=" in (token.kind, previous.kind))
            )
            if ends_line(token):
                text += "  "
            elif not glued:
                text += " "
        text += token.text
        before, previous = previous, token
    return text


def precedence_of(item: list[Token]) -> list[Token]:
    """What stands in brackets behind a rule: there a '-' is always the sign of a number."""
    for place, (token, following) in enumerate(pairwise(item), start=1):
        if token.kind == "." and following.kind == "[":
            return item[place:]
    return []


def ends_line(token: Token) -> bool:
    """Whether nothing can follow `token` on its line: a line comment, or an open string that `#ifdef` leaves out."""
    return (token.kind == COMMENT and token.text.startswith("//")) or token.kind == "unclosed_string"


def is_number(token: Token) -> bool:
    return token.kind == NUMBER


def is_glued(before: Token | None, previous: Token, token: Token) -> bool:
    """Whether nothing stands between `previous` and `token`, as far as these three can tell."""
    if COMMENT in (previous.kind, token.kind):
        return False
    if token.kind in (")", "]", ",", ";", ".") or previous.kind in ("(", "[", "!", "@"):
        return True
    if previous.kind in ("-", "+") and not ends_operand(before):
        return True
    return token.kind == "(" and previous.kind == NAME and opens_arguments(previous, token)


def opens_arguments(previous: Token, token: Token) -> bool:
    """Whether the '(' in `token` belongs to the name before it."""
    if previous.text in AGGREGATES:
        return previous.touches(token)
    return previous.text not in BINARY_OPERATORS and previous.text not in PREFIX_OPERATORS


def ends_operand(token: Token | None) -> bool:
    """Whether a '-' behind `token` is a subtraction."""
    if token is None:
        return False
    if token.kind == NAME:
        return (
            token.text not in BINARY_OPERATORS and token.text not in PREFIX_OPERATORS and token.text not in AGGREGATES
        )
    return token.kind in (NUMBER, STRING, ")", "]", "}")
