"""Takes a program, returns it checked: its rules by `analysis`, the parameters of its directives by `connectors`."""

from __future__ import annotations

from pathlib import Path

from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.connectors.directives import destinations
from tidelog.connectors.parameters import check_directives
from tidelog.errors import ProgramError
from tidelog.language.syntax_tree import DirectiveKind, Program


def check_program(program: Program) -> CheckedProgram:
    """`program` without errors; raises ProgramError with everything that is wrong in it."""
    directives = [directive for directive in program.directives if directive.kind is not DirectiveKind.LIMITSIZE]
    findings = list(check_directives(directives))
    try:
        checked = check(program)
    except ProgramError as error:
        raise ProgramError([*error.diagnostics, *findings], error.texts) from None
    if findings:
        raise ProgramError(findings, checked.texts)
    return checked


def check_outputs(checked: CheckedProgram, folder: Path) -> None:
    """Raises what can be known before there are rows: two outputs in one place, a folder that takes no files."""
    asked = [(directive, checked.schemas[name]) for directive in checked.outputs for name in directive.relations]
    destinations(asked, folder, checked.texts)
