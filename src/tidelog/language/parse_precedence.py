"""What production rules have more than others: signs, what stands behind them in brackets, and how they fire."""

from __future__ import annotations

from tidelog.language.cursor import Cursor, SyntaxFailure
from tidelog.language.lexer import DIRECTIVE, END, NAME, NUMBER, Token
from tidelog.language.syntax_tree import Item, Precedence, ProductionDeclaration, Semantics, Sign
from tidelog.language.words import nearest
from tidelog.span import Span

HINT = "write [priority 10], [name a], [before a] or [after a]"


def parse_sign(cursor: Cursor) -> Sign | None:
    """The sign before a head, if there is one."""
    return Sign(cursor.advance().kind) if cursor.token.kind in ("+", "-") else None


def signs_of(cursor: Cursor, signs: list[Sign | None], span: Span) -> tuple[Sign, ...]:
    """The signs of the heads of a rule; none, reported, where only some heads have one."""
    given = tuple(sign for sign in signs if sign is not None)
    if given and len(given) < len(signs):
        hint = "write '+' before each head that is inserted and '-' before each that is deleted"
        cursor.report("D152", "some heads of this rule have a sign and others have none", span, hint)
        return ()
    return given


def parse_precedence(cursor: Cursor) -> Precedence | None:
    """`[name a, priority 10, before b, after c]` at the cursor; None, reported, when it cannot be read."""
    first = cursor.token
    try:
        return read_precedence(cursor)
    except SyntaxFailure as failure:
        cursor.diagnostics.append(failure.diagnostic)
    while cursor.token.kind not in (END, DIRECTIVE) and cursor.token.line == first.line:
        if cursor.advance().kind == "]":
            break
    return None


def read_precedence(cursor: Cursor) -> Precedence:
    opening = cursor.advance()
    name, priority = "", None
    before: list[str] = []
    after: list[str] = []
    while True:
        word = cursor.expect(NAME, "'name', 'priority', 'before' or 'after'", HINT)
        match word.text:
            case "name":
                check_first(cursor, word, is_first=not name)
                name = cursor.expect(NAME, "the name of the rule", HINT).text
            case "priority":
                check_first(cursor, word, is_first=priority is None)
                priority = signed_integer(cursor)
            case "before":
                before.append(cursor.expect(NAME, "the name of a rule", HINT).text)
            case "after":
                after.append(cursor.expect(NAME, "the name of a rule", HINT).text)
            case _:
                close = nearest(word.text, ("name", "priority", "before", "after"))
                hint = f"did you mean '{close}'?" if close else HINT
                raise cursor.failure("D153", f"unknown word '{word.text}' behind a rule", word.span, hint)
        if not cursor.accept(","):
            break
    cursor.expect_close(opening, "',' or ']'")
    return Precedence(name, priority, tuple(before), tuple(after), cursor.since(opening))


def check_first(cursor: Cursor, word: Token, *, is_first: bool) -> None:
    """Reports a word that says for the second time what can be said once."""
    if not is_first:
        cursor.report("D154", f"this rule has two: '{word.text}' is written twice", word.span, "remove one of them")


def signed_integer(cursor: Cursor) -> int:
    sign = -1 if cursor.accept("-") else 1
    token = cursor.expect(NUMBER, "a whole number", HINT)
    if not token.text.isdigit():
        raise cursor.failure("D100", f"expected a whole number, found {token.text}", token.span, HINT)
    return sign * int(token.text)


def parse_production(cursor: Cursor, word: Token) -> list[Item]:
    """`.production set`, `.production instance`, `.production instance refraction` or `.production parallel`"""
    names = [semantics.value for semantics in Semantics]
    hint = f"write .production {', .production '.join(names[:-1])} or .production {names[-1]}"
    if cursor.token.kind != NAME or cursor.token.line > word.line:
        raise cursor.failure("D155", "'.production' does not say how rules fire", word.span, hint)
    chosen = cursor.advance()
    if chosen.text not in names:
        close = nearest(chosen.text, names)
        message = f"'{chosen.text}' is no way in which rules fire"
        raise cursor.failure("D155", message, chosen.span, f"did you mean '{close}'?" if close else hint)
    semantics = Semantics(chosen.text)
    refraction = cursor.token.text == "refraction" and cursor.token.line == word.line
    if refraction:
        token = cursor.advance()
        if semantics is not Semantics.INSTANCE:
            message = f"'{chosen.text}' knows no refraction: it is about single instances"
            cursor.report("D155", message, token.span, "remove it, or write .production instance refraction")
            refraction = False
    elif cursor.token.kind == NAME and cursor.token.line == word.line and cursor.ahead().kind != "(":
        token = cursor.advance()
        message = f"unknown word '{token.text}' behind '.production {chosen.text}'"
        cursor.report("D155", message, token.span, "remove it, or write .production instance refraction")
    return [ProductionDeclaration(semantics, refraction, cursor.since(word))]
