"""The parser: takes the text of a program, returns a `Program`, or raises with everything that is wrong in it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tidelog.errors import InputError, ProgramError
from tidelog.language.cursor import Cursor, SyntaxFailure
from tidelog.language.depth import MAXIMUM_DEPTH, check_depth
from tidelog.language.lexer import DIRECTIVE, END, NAME
from tidelog.language.parse_clauses import parse_atom, parse_clause, skip_clause
from tidelog.language.parse_items import parse_directive
from tidelog.language.preprocessor import preprocess
from tidelog.language.syntax_tree import (
    Atom,
    Constant,
    Item,
    ProductionDeclaration,
    Program,
    Semantics,
    Variable,
    Wildcard,
)


def parse(text: str, file: str = "<text>", include_folders: Sequence[Path] = ()) -> Program:
    """The program that stands in `text`. Raises ProgramError with every syntax error.

    `file` is what error reports call the text; includes are looked for beside it and in `include_folders`.
    """
    with collection_paused():
        source = preprocess(text, file, include_folders)
        items = parse_items(Cursor(source))
    if source.diagnostics:
        raise ProgramError(list(dict.fromkeys(source.diagnostics)), source.texts)
    return Program(tuple(items), tuple(source.texts.items()))


def parse_file(path: str | Path, include_folders: Sequence[Path] = ()) -> Program:
    """The program in the file at `path`; where its name ends in `.production`, `.production set` need not be said."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the program is not UTF-8 text (byte {error.start}); save it as UTF-8"
        raise InputError(message, str(path)) from error
    except OSError as error:
        raise InputError(f"the program cannot be read: {error.strerror or error}", str(path)) from error
    program = parse(text, str(path), include_folders)
    if Path(path).suffix == ".production" and not any(program.productions):
        return replace(program, items=(ProductionDeclaration(Semantics.SET), *program.items))
    return program


def parse_query(text: str) -> Atom:
    """The atom that `text` asks about, such as `path("a", X)`: constants, variables and `_`."""
    source = preprocess(text, "<query>")
    cursor = Cursor(source)
    hint = 'write one atom, such as path("a", X)'
    try:
        if cursor.token.kind != NAME:
            raise cursor.unexpected("the name of a relation", hint)
        atom = parse_atom(cursor)
        cursor.accept(".")
        if cursor.token.kind != END:
            message = "a query is one atom, and this follows it"
            raise cursor.failure("D150", message, cursor.token.span, hint + "; put more in a rule")
        for argument in atom.arguments:
            if not isinstance(argument, Constant | Variable | Wildcard):
                hint = "ask with a variable, and compute with the rows"
                cursor.report("D151", "a query takes constants, variables and '_'", argument.span, hint)
    except SyntaxFailure as failure:
        if not cursor.broken:
            cursor.diagnostics.append(failure.diagnostic)
    if cursor.diagnostics:
        raise ProgramError(cursor.diagnostics, source.texts)
    return atom


@contextmanager
def collection_paused() -> Iterator[None]:
    """While tokens and nodes are made: they have no cycles, and looking for some takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parse_items(cursor: Cursor) -> list[Item]:
    """The items of the whole text; after a mistake, reading goes on with the next item."""
    items: list[Item] = []
    rules = 0
    while cursor.token.kind != END:
        first, start = cursor.token, cursor.at
        cursor.nesting = 0
        is_directive = first.kind == DIRECTIVE
        try:
            if is_directive:
                items += parse_directive(cursor)
                continue
            check_start(cursor)
            rule = parse_clause(cursor, rules + 1)
            if rule is not None:
                rules += 1
                items.append(rule)
                if cursor.at - start > MAXIMUM_DEPTH:
                    cursor.diagnostics += check_depth(rule)
        except SyntaxFailure as failure:
            broken = cursor.broken_between(start, cursor.at)
            if not broken:
                cursor.diagnostics.append(failure.diagnostic)
            if is_directive:
                cursor.skip_lines_of(start)
            elif not (broken and resume_behind(cursor, broken[-1], start)):
                skip_clause(cursor)
    return items


def resume_behind(cursor: Cursor, place: int, start: int) -> bool:
    """Moves to the line after the token at `place`, which could not be read, if that is behind `start`."""
    for at in (place, place + 1):
        token, before = cursor.tokens[min(at, len(cursor.tokens) - 1)], cursor.tokens[at - 1]
        if at > start and token.kind == NAME and token.line > before.end_line:
            cursor.at = at
            return True
    return False


def check_start(cursor: Cursor) -> None:
    """Raises when no clause can begin with the token at the cursor."""
    token = cursor.token
    match token.kind:
        case "name" | "+" | "-":
            return
        case ".":
            raise cursor.failure("D125", "this '.' ends nothing", token.span, "remove it")
        case ")" | "]" | "}":
            raise cursor.failure("D118", f"this '{token.text}' closes nothing", token.span, "remove it")
        case "#" | "##":
            hint = "a preprocessor line has '#' as its first character"
            raise cursor.failure("D126", "'#' in the middle of a line", token.span, hint)
        case ":-":
            hint = "write the head before ':-'"
            raise cursor.failure("D123", "this rule has no head", token.span, hint)
        case "!":
            hint = "only literals of a body are negated; a rule that deletes has a head such as -p(x)"
            raise cursor.failure("D124", "a head cannot be negated", token.span, hint)
        case _:
            raise cursor.unexpected("a fact, a rule or a directive", "a clause begins with the name of a relation")
