"""The program a user names: read, checked, its warnings on stderr."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection

from tidelog.analysis.checked import CheckedProgram
from tidelog.checking import check_program
from tidelog.errors import UsageError, render
from tidelog.language.parser import parse, parse_file
from tidelog.language.syntax_tree import Program

STDIN = "-"
ABOUT_ROWS = ("D602", "D603")
"""Warnings about relations that hold no row, for those who give rows beside the program and its inputs."""


def add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="PROGRAM", help="file with declarations and rules; - reads standard input")


def read_program(path: str) -> Program:
    """The program in the file `path`, or on standard input when that is `-`."""
    return parse(sys.stdin.read(), file="<stdin>") if path == STDIN else parse_file(path)


def read_checked(path: str, *, silent: Collection[str] = ()) -> CheckedProgram:
    """The program in the file `path`, checked; its warnings go to stderr, without those of the `silent` codes."""
    checked = check_program(read_program(path))
    for warning in checked.warnings:
        if warning.code not in silent:
            print(render(warning, checked.texts), end="\n\n", file=sys.stderr)
    return checked


def read_runnable(path: str, *, silent: Collection[str] = ()) -> CheckedProgram:
    """The program in the file `path`, checked, whose facts can be read too: not both from standard input."""
    checked = read_checked(path, silent=silent)
    if path == STDIN and any(directive.parameter("IO") == "stdin" for directive in checked.inputs):
        raise UsageError("the program is read from standard input, so facts cannot be: give the program as a file")
    return checked
