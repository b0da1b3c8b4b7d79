"""Macros: definitions, and runs of tokens with their uses replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.errors import Diagnostic, Note
from tidelog.language.lexer import NAME, STRING, Token, scan
from tidelog.span import Span

MAXIMUM_TOKENS = 1_000_000
"""Tokens that the macros of a program may expand to, so that doubling macros end in an error."""

MAXIMUM_DEPTH = 100
"""Macros whose text uses another macro, one in the other."""

REST = "__VA_ARGS__"

LOST = "lost"
"""The kind of the token that stands where a macro could not be expanded; that is reported already."""


@dataclass(frozen=True, slots=True)
class Macro:
    """`#define name body` or `#define name(parameters) body`; parameters is None for the former."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]
    span: Span


def define(line: Token, tokens: list[Token]) -> Macro | Diagnostic:
    """The macro that a #define line defines, or what is wrong with the line."""
    if not tokens or tokens[0].kind != NAME:
        return Diagnostic("D131", "#define needs a name", line.span, "write '#define NAME text'")
    name = tokens[0]
    if len(tokens) == 1 or tokens[1].kind != "(" or not name.touches(tokens[1]):
        return Macro(name.text, None, tuple(tokens[1:]), name.span)
    close = next((at for at, token in enumerate(tokens) if token.kind == ")"), None)
    if close is None:
        hint = f"write '#define {name.text}(a, b) text'"
        return Diagnostic("D131", f"the parameters of '{name.text}' are never closed", tokens[1].span, hint)
    between = tokens[2:close]
    if [token.kind for token in between[-3:]] == [".", ".", "."]:
        between = [*between[:-3], between[-1]._replace(kind=NAME, text=REST)]
    names, commas = between[0::2], between[1::2]
    wrong = [token for token in names if token.kind != NAME] + [token for token in commas if token.kind != ","]
    if wrong or (between and len(names) == len(commas)):
        span = wrong[0].span if wrong else between[-1].span
        hint = f"parameters are names with commas between: '#define {name.text}(a, b) text'"
        return Diagnostic("D131", f"the parameters of '{name.text}' cannot be read", span, hint)
    return Macro(name.text, tuple(token.text for token in names), tuple(tokens[close + 1 :]), name.span)


class Macros:
    """The macros known at a point of the text."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.table: dict[str, Macro] = {}
        self.diagnostics = diagnostics
        self.expanded = 0

    def expand(self, tokens: list[Token]) -> list[Token]:
        """`tokens` with every use of a macro replaced."""
        return self._expand(tokens, frozenset()) if self.table else tokens

    def _expand(self, tokens: list[Token], hidden: frozenset[str]) -> list[Token]:
        """`tokens` expanded; a macro named in `hidden` is being expanded already and stays as it is."""
        result: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            macro = self.table.get(token.text) if token.kind == NAME and token.text not in hidden else None
            if macro is None:
                result.append(token)
                continue
            arguments: list[list[Token]] | None = None
            use = token.span
            if macro.parameters is not None:
                if at == len(tokens) or tokens[at].kind != "(":
                    result.append(token)
                    continue
                arguments, end = split_arguments(tokens, at)
                if arguments is None:
                    self.report(
                        "D135", f"the arguments of macro '{macro.name}' are never closed", use, "add ')'", macro
                    )
                    return [*result, lost(use)]
                use = use.to(tokens[end - 1].span)
                at = end
            result += self._replace(macro, arguments, use, hidden)
        return result

    def _replace(
        self, macro: Macro, arguments: list[list[Token]] | None, use: Span, hidden: frozenset[str]
    ) -> list[Token]:
        """What a use of `macro` stands for, macros in it replaced too."""
        if self.expanded > MAXIMUM_TOKENS:
            return [lost(use)]
        if len(hidden) >= MAXIMUM_DEPTH:
            self.report("D136", f"macros are nested more than {MAXIMUM_DEPTH} deep", use, "define it directly", macro)
            return [lost(use)]
        bound = self._bind(macro, arguments, use)
        if bound is None:
            return [lost(use)]
        body = substitute(macro, bound, {name: self._expand(given, hidden) for name, given in bound.items()}, use)
        self.expanded += len(body)
        if self.expanded > MAXIMUM_TOKENS:
            hint = "a macro that uses another one twice doubles the text each time"
            self.report("D136", f"macros expand to more than {MAXIMUM_TOKENS:,} tokens", use, hint, macro)
            return [lost(use)]
        return self._expand(body, hidden | {macro.name})

    def _bind(self, macro: Macro, arguments: list[list[Token]] | None, use: Span) -> dict[str, list[Token]] | None:
        """The tokens given for each parameter; None, reported, when there are too few or too many."""
        if macro.parameters is None or arguments is None:
            return {}
        parameters = macro.parameters
        if parameters and parameters[-1] == REST:
            named = len(parameters) - 1
            arguments = [*arguments[:named], join(arguments[named:])]
        if not parameters and arguments == [[]]:
            arguments = []
        if len(arguments) != len(parameters):
            message = f"macro '{macro.name}' takes {len(parameters)} arguments, not {len(arguments)}"
            hint = f"write {macro.name}({', '.join(parameters)})"
            self.report("D134", message, use, hint, macro)
            return None
        return dict(zip(parameters, arguments, strict=True))

    def report(self, code: str, message: str, span: Span, hint: str, macro: Macro) -> None:
        note = Note(f"'{macro.name}' is defined here", macro.span)
        self.diagnostics.append(Diagnostic(code, message, span, hint, notes=(note,)))


def lost(use: Span) -> Token:
    return Token(LOST, "", use.file, use.line, use.column, use.end_line, use.end_column)


def split_arguments(tokens: list[Token], opening: int) -> tuple[list[list[Token]] | None, int]:
    """The arguments between the parenthesis at `opening` and its match (None without one), and the place behind."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for at in range(opening, len(tokens)):
        token = tokens[at]
        if token.kind in ("(", "[", "{"):
            depth += 1
        elif token.kind in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return arguments, at + 1
        if depth == 1 and token.kind == ",":
            arguments.append([])
        elif at > opening:
            arguments[-1].append(token)
    return None, len(tokens)


def join(arguments: Iterable[list[Token]]) -> list[Token]:
    """The arguments in one list, with the commas that stood between them."""
    joined: list[Token] = []
    for argument in arguments:
        if joined:
            joined.append(joined[-1]._replace(kind=",", text=","))
        joined += argument
    return joined


def substitute(macro: Macro, raw: dict[str, list[Token]], expanded: dict[str, list[Token]], use: Span) -> list[Token]:
    """The body of `macro` with arguments in place of parameters, `#p` as a string, `a ## b` as one token."""
    result: list[Token] = []
    body = macro.body
    at = 0
    while at < len(body):
        token = body[at]
        following = body[at + 1] if at + 1 < len(body) else None
        if token.kind == "#" and following is not None and following.text in raw:
            text = " ".join(piece.text for piece in raw[following.text]).replace("\\", "\\\\").replace('"', '\\"')
            result.append(token._replace(kind=STRING, text=f'"{text}"').moved(use))
            at += 2
        elif token.kind == "##" and result and following is not None:
            right = raw.get(following.text, [following])
            glued = result.pop().text + (right[0].text if right else "")
            result += [piece.moved(use) for piece in scan(glued, use.file)]
            result += right[1:]
            at += 2
        else:
            pasted = following is not None and following.kind == "##"
            given = (raw if pasted else expanded).get(token.text) if token.kind == NAME else None
            result += [token.moved(use)] if given is None else given
            at += 1
    return result
