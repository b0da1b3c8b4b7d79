"""A place in a list of tokens, with the words for what was expected there."""

from __future__ import annotations

from tidelog.errors import Diagnostic, Note
from tidelog.language.lexer import DIRECTIVE, END, NAME, Token
from tidelog.language.preprocessor import Source
from tidelog.language.words import KEYWORDS, RESERVED_FOR_RELATIONS
from tidelog.span import Span

MAXIMUM_NESTING = 64
"""Parentheses, braces, functions and operators one in the other. The parser uses up to eleven frames for each."""

OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())


class SyntaxFailure(Exception):
    """The rest of an item cannot be read; caught by the parser, which goes on with the next item."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Cursor:
    """Walks over tokens that end with one of kind END. `diagnostics` collects what does not stop the walk."""

    __slots__ = ("at", "broken", "diagnostics", "nesting", "tokens")

    def __init__(self, source: Source) -> None:
        self.tokens = source.tokens
        self.at = 0
        self.diagnostics = source.diagnostics
        self.broken = source.broken
        self.nesting = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def previous(self) -> Token:
        return self.tokens[max(0, self.at - 1)]

    def since(self, first: Token) -> Span:
        """The span from `first` to the token just passed over."""
        last = self.tokens[self.at - 1]
        return Span(first.file, first.line, first.column, last.end_line, last.end_column)

    def ahead(self, count: int = 1) -> Token:
        """The token `count` places further on, or the last."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """The current token; the cursor moves behind it, but never behind the last."""
        token = self.tokens[self.at]
        if token.kind != END:
            self.at += 1
        return token

    def accept(self, kind: str) -> Token | None:
        """The current token, passed over, if it is of `kind`."""
        token = self.tokens[self.at]
        if token.kind == kind:
            self.at += 1
            return token
        return None

    def expect(self, kind: str, wanted: str, hint: str = "") -> Token:
        """The current token, passed over; a failure that says what was `wanted` if it is not of `kind`."""
        token = self.tokens[self.at]
        if token.kind == kind:
            self.at += 1
            return token
        raise self.unexpected(wanted, hint)

    def expect_close(self, opening: Token, wanted: str = "") -> Token:
        """The closing match of `opening`, passed over."""
        closing = OPENING[opening.kind]
        token = self.token
        if token.kind == closing:
            return self.advance()
        if token.kind in (".", ":-", END, DIRECTIVE) or token.kind in CLOSING:
            note = Note(f"before this, '{closing}' is expected", token.span)
            message = f"this '{opening.text}' is never closed"
            raise SyntaxFailure(Diagnostic("D104", message, opening.span, f"add '{closing}'", notes=(note,)))
        hint = f"put ',' between them, or close with '{closing}'" if "," in wanted else ""
        raise self.unexpected(wanted or f"'{closing}'", hint)

    def unexpected(self, wanted: str, hint: str = "") -> SyntaxFailure:
        """The failure to raise where `wanted` should stand and something else does."""
        token = self.token
        if token.kind == END:
            message = f"the text ends where {wanted} is expected"
            return SyntaxFailure(Diagnostic("D100", message, self.previous.end_span, hint or "complete or remove this"))
        if token.kind == DIRECTIVE:
            message = f"expected {wanted} before {describe(token)}"
            return SyntaxFailure(Diagnostic("D100", message, self.previous.end_span, hint))
        return SyntaxFailure(Diagnostic("D100", f"expected {wanted}, found {describe(token)}", token.span, hint))

    def failure(self, code: str, message: str, span: Span, hint: str) -> SyntaxFailure:
        """The failure to raise, from its parts."""
        return SyntaxFailure(Diagnostic(code, message, span, hint))

    def report(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """Notes a mistake after which the walk can go on."""
        self.diagnostics.append(Diagnostic(code, message, span, hint))

    def later(self, what: str, span: Span, hint: str = "") -> None:
        """Notes a construct of Soufflé's that is not there yet."""
        self.report("D190", f"{what} not supported yet", span, hint)

    def relation_name(self, wanted: str) -> Token:
        """A name that may be a relation's, passed over."""
        token = self.expect(NAME, wanted)
        if token.text == "_":
            raise self.failure("D111", "'_' cannot name a relation", token.span, "give it a name with a letter")
        if token.text in RESERVED_FOR_RELATIONS:
            what = "a reserved word" if token.text in KEYWORDS else "the name of a function"
            hint = f"choose another name, such as '{token.text}_'"
            raise self.failure("D111", f"'{token.text}' is {what} and cannot name a relation", token.span, hint)
        if self.token.kind == "." and token.touches(self.token):
            inner = self.ahead()
            if inner.kind == NAME and self.token.touches(inner):
                self.later("qualified names of components are", token.span.to(inner.span), "write the rules in full")
                self.at += 2
        return token

    def enter(self, opening: Token) -> None:
        """Goes one level deeper; a failure when that is too deep. The parser's own depth follows this count."""
        self.nesting += 1
        if self.nesting > MAXIMUM_NESTING:
            message = f"this is nested more than {MAXIMUM_NESTING} levels deep"
            raise self.failure("D115", message, opening.span, "give the inner part a relation or a variable of its own")

    def leave(self) -> None:
        self.nesting -= 1

    def matching(self, at: int) -> int:
        """The place of the closing match of the bracket at `at`, or of the end of the clause if there is none."""
        depth = 0
        while True:
            kind = self.tokens[at].kind
            if kind in OPENING:
                depth += 1
            elif kind in CLOSING:
                depth -= 1
                if depth == 0:
                    return at
            elif kind in (".", ":-", END, DIRECTIVE):
                return at
            at += 1

    def skip_group(self) -> Span:
        """The span of the bracketed group that begins here, passed over whole, whatever stands in it."""
        opening = self.token
        depth = 0
        while self.token.kind != END:
            kind = self.advance().kind
            depth += (kind in OPENING) - (kind in CLOSING)
            if depth == 0:
                return opening.span.to(self.previous.span)
        raise SyntaxFailure(Diagnostic("D104", f"this '{opening.text}' is never closed", opening.span, "close it"))

    def broken_between(self, start: int, end: int) -> list[int]:
        """The places from `start` to `end` at which the text itself could not be read."""
        return [place for place in self.broken if start <= place <= end] if self.broken else []

    def forget_mistakes(self, start: int) -> None:
        """Takes back what was reported about the text from `start` to the cursor, which is skipped whole."""
        for place in self.broken_between(start, self.at - 1):
            finding = self.broken[place]
            if finding in self.diagnostics:
                self.diagnostics.remove(finding)

    def skip_lines_of(self, start: int) -> None:
        """Moves to where the directive that began at `start` must be over: the next item on a later line."""
        first = self.tokens[start]
        at = start
        depth = 0
        while True:
            token = self.tokens[at]
            depth = max(0, depth + (token.kind in OPENING) - (token.kind in CLOSING))
            if token.kind == END or (token.kind == DIRECTIVE and token is not first):
                break
            if depth == 0 and token.kind == NAME and token.line > first.line and at >= self.at:
                break
            at += 1
        self.at = at


def describe(token: Token) -> str:
    """A token as a message names it."""
    match token.kind:
        case "end":
            return "the end of the text"
        case "string":
            return f"the string {token.text}" if len(token.text) <= 30 else "a string"
        case "number":
            return f"the number {token.text}"
        case "directive":
            return f"the directive '{token.text}'"
        case "name" if token.text in KEYWORDS:
            return f"the reserved word '{token.text}'"
        case _:
            return f"'{token.text}'"
