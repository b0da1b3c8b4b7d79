"""The tokens that a program is made of, once includes, conditions and macros are worked out.

Takes a text, returns tokens. It works on tokens, not on text, so that every place stays one of the user's: a token
that comes from a macro stands where the macro was used, one of an included file stands in that file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.errors import Diagnostic, Note
from tidelog.language.includes import IncludeFinder
from tidelog.language.lexer import COMMENT, HASH_LINE, MISTAKES, NAME, Token, mistake, scan, tokenize
from tidelog.language.macros import LOST, Macro, Macros, define
from tidelog.language.words import nearest
from tidelog.span import Span

MAXIMUM_INCLUDES = 1000
"""Files a program may include, counting one again each time; more of them is a mistake."""


@dataclass(slots=True)
class Source:
    """What came of a text: its tokens, every file read, and what was wrong.

    `broken` has the numbers of the tokens at which something could not be read, with the report where there is one.
    """

    tokens: list[Token] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    broken: dict[int, Diagnostic | None] = field(default_factory=dict)


def preprocess(text: str, file: str, include_folders: Sequence[Path] = ()) -> Source:
    """The tokens of `text` and of what it includes, closed by one of kind END."""
    source = Source()
    worker = _Preprocessor(source, IncludeFinder(file, tuple(include_folders)))
    worker.read(text, file)
    return source


@dataclass(slots=True)
class _Condition:
    """An open #ifdef or #ifndef."""

    opening: Token
    active: bool
    outer: bool
    else_seen: Token | None = None


@dataclass(slots=True)
class _Line:
    """A preprocessor line: `#name rest`."""

    token: Token
    name: str
    name_span: Span
    tokens: list[Token]


class _Preprocessor:
    def __init__(self, source: Source, finder: IncludeFinder) -> None:
        self.source = source
        self.finder = finder
        self.macros = Macros(source.diagnostics)
        self.conditions: list[_Condition] = []
        self.includes = 0

    @property
    def active(self) -> bool:
        return not self.conditions or self.conditions[-1].active

    def read(self, text: str, file: str) -> None:
        """Adds the tokens of a file; conditions must open and close in the same file."""
        self.source.texts[file] = text
        outer_conditions, self.conditions = self.conditions, []
        tokens = tokenize(text, file)
        end = tokens.pop()
        run: list[Token] = []
        for token in tokens:
            if token.kind == HASH_LINE:
                self.add(run)
                run = []
                self.obey(token)
            elif self.active:
                run.append(token)
        self.add(run)
        for condition in self.conditions:
            self.report("D133", "this condition is never closed", condition.opening.span, "close it with '#endif'")
        self.conditions = outer_conditions
        if not self.finder.including:
            self.source.tokens.append(end)

    def add(self, run: list[Token]) -> None:
        """Adds tokens with macros expanded and mistakes reported."""
        for token in self.macros.expand(run):
            if token.kind not in MISTAKES and token.kind != LOST:
                self.source.tokens.append(token)
                continue
            place = len(self.source.tokens)
            if token.kind == LOST:
                self.source.broken[place] = None
                self.source.tokens.append(token)
                continue
            finding, instead = mistake(token)
            self.source.diagnostics.append(finding)
            self.source.broken[place] = finding
            if instead is not None:
                self.source.tokens.append(instead)

    def obey(self, token: Token) -> None:
        """Does what a preprocessor line asks for."""
        line = split(token)
        handler = CONDITIONS.get(line.name)
        if handler is not None:
            handler(self, line)
        elif self.active:
            ACTIONS.get(line.name, _Preprocessor.unknown)(self, line)

    def report(self, code: str, message: str, span: Span, hint: str = "", notes: tuple[Note, ...] = ()) -> None:
        self.source.diagnostics.append(Diagnostic(code, message, span, hint, notes=notes))

    def define(self, line: _Line) -> None:
        macro = define(line.token, line.tokens)
        if isinstance(macro, Macro):
            self.macros.table[macro.name] = macro
        else:
            self.source.diagnostics.append(macro)

    def undefine(self, line: _Line) -> None:
        name = self.single_name(line)
        if name is not None:
            self.macros.table.pop(name, None)

    def single_name(self, line: _Line) -> str | None:
        """The one name that stands on `line`; None, reported, when it is not one name."""
        if len(line.tokens) == 1 and line.tokens[0].kind == NAME:
            return line.tokens[0].text
        self.report("D131", f"#{line.name} takes one name", line.token.span, f"write '#{line.name} NAME'")
        return None

    def ifdef(self, line: _Line) -> None:
        self.open(line, lambda name: name in self.macros.table)

    def ifndef(self, line: _Line) -> None:
        self.open(line, lambda name: name not in self.macros.table)

    def open(self, line: _Line, holds: Callable[[str], bool]) -> None:
        outer = self.active
        name = self.single_name(line) if outer else None
        self.conditions.append(_Condition(line.token, outer and (name is None or holds(name)), outer))

    def unsupported_condition(self, line: _Line) -> None:
        if self.active:
            hint = "use #ifdef NAME or #ifndef NAME with #else and #endif"
            self.report("D190", f"#{line.name} is not supported yet", line.token.span, hint)
        if line.name == "if":
            self.conditions.append(_Condition(line.token, self.active, self.active))

    def otherwise(self, line: _Line) -> None:
        if not self.conditions:
            self.report("D132", "#else without #ifdef or #ifndef", line.token.span, "remove it, or open a condition")
            return
        condition = self.conditions[-1]
        if condition.else_seen is not None:
            notes = (Note("the first #else", condition.else_seen.span),)
            self.report("D132", "this condition has two #else", line.token.span, "remove one of them", notes)
            return
        condition.else_seen = line.token
        condition.active = condition.outer and not condition.active

    def endif(self, line: _Line) -> None:
        if not self.conditions:
            self.report("D132", "#endif without #ifdef or #ifndef", line.token.span, "remove it, or open a condition")
            return
        self.conditions.pop()

    def include(self, line: _Line) -> None:
        self.includes += 1
        if self.includes > MAXIMUM_INCLUDES:
            if self.includes == MAXIMUM_INCLUDES + 1:
                hint = "guard each file with #ifndef NAME, #define NAME … #endif"
                self.report("D141", f"more than {MAXIMUM_INCLUDES} files are included", line.token.span, hint)
            return
        found = self.finder.find(line.token, line.tokens)
        if isinstance(found, Diagnostic):
            self.source.diagnostics.append(found)
            return
        with self.finder.inside(found, line.token):
            self.read(found.text, found.name)

    def stop(self, line: _Line) -> None:
        message = line.token.text.split("error", 1)[1].strip().strip('"') or "#error"
        self.report("D145", message, line.token.span, "the text itself asks to stop here")

    def ignore(self, line: _Line) -> None:
        pass

    def unknown(self, line: _Line) -> None:
        if not line.name and not line.tokens:
            return  # a lone '#' is the null directive of the C preprocessor
        known = [*CONDITIONS, *ACTIONS]
        close = nearest(line.name, known)
        hint = f"did you mean '#{close}'?" if close else "known are " + ", ".join(f"#{name}" for name in known)
        self.report("D130", f"unknown preprocessor line '#{line.name}'", line.name_span, hint)


Handler = Callable[[_Preprocessor, _Line], None]

CONDITIONS: dict[str, Handler] = {
    "ifdef": _Preprocessor.ifdef,
    "ifndef": _Preprocessor.ifndef,
    "else": _Preprocessor.otherwise,
    "endif": _Preprocessor.endif,
    "if": _Preprocessor.unsupported_condition,
    "elif": _Preprocessor.unsupported_condition,
}
"""Lines that are read even where a condition leaves text out."""

ACTIONS: dict[str, Handler] = {
    "define": _Preprocessor.define,
    "undef": _Preprocessor.undefine,
    "include": _Preprocessor.include,
    "error": _Preprocessor.stop,
    "pragma": _Preprocessor.ignore,
}

_NAME_OF_LINE = re.compile(r"#[ \t]*([A-Za-z_]*)")


def split(token: Token) -> _Line:
    """The name of a preprocessor line and the tokens behind it."""
    match = _NAME_OF_LINE.match(token.text)
    assert match is not None
    start, end = match.span()
    name_span = Span(token.file, token.line, token.column + start, token.line, token.column + end)
    rest = scan(token.text, token.file, end, token.line, token.column)
    return _Line(token, match[1], name_span, [piece for piece in rest if piece.kind != COMMENT])
