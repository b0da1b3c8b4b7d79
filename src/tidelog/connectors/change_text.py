"""The text form of a change: `+edge(1, 2).` inserts, `-edge(2, 3).` retracts; facts and comments as in a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf

import pyarrow as pa

from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.connectors.directives import in_order
from tidelog.connectors.problems import Problem, input_error
from tidelog.connectors.python_rows import rows_of, table_of_rows
from tidelog.errors import Diagnostic, InputError, ProgramError, excerpt
from tidelog.facts.change import Change
from tidelog.language.cursor import Cursor, SyntaxFailure, describe
from tidelog.language.lexer import END, HASH_LINE, tokenize
from tidelog.language.parse_clauses import parse_atom
from tidelog.language.parser import collection_paused
from tidelog.language.preprocessor import preprocess
from tidelog.language.printer import print_constant
from tidelog.language.syntax_tree import (
    Atom,
    Call,
    Constant,
    Program,
    RelationDeclaration,
    Rule,
    Term,
    TypeDeclaration,
    Variable,
)
from tidelog.plan.lower import fact_of
from tidelog.schema import Kind, Row, Schema

SIGNS = ("+", "-")


def read_change_text(text: str, file: str, checked: CheckedProgram) -> Change:
    """The change that `text` asks for; InputError names line and column of everything that is wrong in it.

    Facts are read as in a program: strings with escapes, numbers in every spelling, expressions of constants. Beside
    that, `inf` is a float, which a program cannot spell.
    """
    with collection_paused():
        signed = _parsed(text, file)
    return _typed(signed, text, file, checked)


def change_lines(sign: str, rows: pa.Table, schema: Schema) -> Iterator[str]:
    """Each row as a line that `read_change_text` reads, sorted by value."""
    for row in rows_of(in_order(rows)):
        values = ", ".join(print_constant(Constant(value, None)) for value in row)
        yield f"{sign}{schema.relation}({values})."


def _parsed(text: str, file: str) -> list[tuple[str, Atom]]:
    """The facts of `text`, each with its sign."""
    if "#" in text:
        _refuse_preprocessing(text, file)
    source = preprocess(text, file)
    cursor = Cursor(source)
    signed: list[tuple[str, Atom]] = []
    while cursor.token.kind != END:
        start = cursor.at
        cursor.nesting = 0
        try:
            signed.append(_signed_fact(cursor))
        except SyntaxFailure as failure:
            if not cursor.broken_between(start, cursor.at):
                cursor.diagnostics.append(failure.diagnostic)
            _skip_fact(cursor, start)
    if cursor.diagnostics:
        raise _as_input_error(dict.fromkeys(cursor.diagnostics), text, file)
    return signed


def _refuse_preprocessing(text: str, file: str) -> None:
    findings = [
        Diagnostic("D100", "a change file has no lines that begin with '#'", token.span, "comments begin with //")
        for token in tokenize(text, file)
        if token.kind == HASH_LINE
    ]
    if findings:
        raise _as_input_error(findings, text, file)


def _signed_fact(cursor: Cursor) -> tuple[str, Atom]:
    """`+edge(1, 2).` at the cursor."""
    if cursor.token.kind not in SIGNS:
        message = f"expected '+' or '-' and a fact, found {describe(cursor.token)}"
        hint = "write +edge(1, 2). to insert it, -edge(1, 2). to retract it"
        raise cursor.failure("D100", message, cursor.token.span, hint)
    sign = cursor.advance().kind
    atom = _with_infinities(parse_atom(cursor))
    if cursor.token.kind in (*SIGNS, END):
        cursor.report("D101", "missing '.' at the end of this fact", cursor.previous.end_span, "end each fact with '.'")
    else:
        cursor.expect(".", "'.'", "a change file has facts only: end each with '.'")
    return sign, atom


def _with_infinities(atom: Atom) -> Atom:
    """`atom` with `inf` and `-inf` as the values they name."""
    arguments = tuple(_infinity(term) or term for term in atom.arguments)
    return atom if arguments == atom.arguments else replace(atom, arguments=arguments)


def _infinity(term: Term) -> Constant | None:
    match term:
        case Variable("inf"):
            return Constant(inf, Kind.FLOAT, term.span)
        case Call("neg", (Variable("inf"),)):
            return Constant(-inf, Kind.FLOAT, term.span)
        case _:
            return None


def _skip_fact(cursor: Cursor, start: int) -> None:
    """Moves behind the '.' of the fact that began at `start`, or before the next line that begins with a sign."""
    if cursor.at == start:
        cursor.advance()
    while cursor.token.kind != END:
        if cursor.token.kind in SIGNS and cursor.token.line > cursor.previous.end_line:
            return
        if cursor.advance().kind == ".":
            return


def _typed(signed: Sequence[tuple[str, Atom]], text: str, file: str, checked: CheckedProgram) -> Change:
    """The facts as rows of their relations, checked as the facts of a program are."""
    refused = [_inline_problem(atom) for _, atom in signed if atom.relation in checked.inlined]
    if refused:
        raise _as_input_error(refused, text, file)
    declared = [item for item in checked.program.items if isinstance(item, RelationDeclaration | TypeDeclaration)]
    facts = [Rule((atom,), span=atom.span, id=number) for number, (_, atom) in enumerate(signed, 1)]
    try:
        found = check(Program((*declared, *facts), (*checked.program.texts, (file, text))))
    except ProgramError as error:
        raise _as_input_error(error.diagnostics, text, file) from None
    rows: dict[str, dict[str, list[Row]]] = {sign: {} for sign in SIGNS}
    for stratum in found.strata:
        for rule in stratum.rules:
            if rule.body:  # of an equivalence relation
                continue
            row = fact_of(rule)
            if row is None:
                finding = Diagnostic("D100", "this fact has no value", rule.span, "write its values as constants")
                raise _as_input_error([finding], text, file)
            rows[signed[rule.id - 1][0]].setdefault(rule.head.relation, []).append(row)
    plus, minus = (
        {relation: table_of_rows(given, checked.schemas[relation]) for relation, given in rows[sign].items()}
        for sign in SIGNS
    )
    return Change(plus, minus)


def _inline_problem(atom: Atom) -> Diagnostic:
    message = f"'{atom.relation}' is inline and has no rows of its own"
    return Diagnostic("D100", message, atom.span, "remove the qualifier to store it")


def _as_input_error(findings: Iterable[Diagnostic], text: str, file: str) -> InputError:
    ordered = sorted(findings, key=lambda finding: finding.span)
    problems = []
    for finding in ordered:
        hint = [f"  hint: {finding.hint}"] if finding.hint else []
        lines = [finding.message, *excerpt(finding.span, {file: text}), *hint]
        problems.append(Problem("\n".join(lines), finding.span.line, finding.span.column))
    return input_error(problems, file)
