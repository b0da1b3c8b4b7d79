"""`tidelog graph`: the rule application graph of a program, as text, for Graphviz or as a picture."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from tidelog.cli.programs import add_program, read_checked
from tidelog.codegen.application_graph import application_graph
from tidelog.codegen.draw_graph import draw_graph
from tidelog.codegen.graph_nodes import ApplicationGraph
from tidelog.codegen.print_graph import print_dot, print_graph
from tidelog.codegen.rule_application import Columns
from tidelog.errors import OutputError

FORMATS: dict[str, Callable[[ApplicationGraph], str]] = {"text": print_graph, "dot": print_dot, "svg": draw_graph}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument(
        "--format",
        choices=[*FORMATS],
        help="text to read, dot for Graphviz, or svg, a picture (default: what the suffix of -o says, else text)",
    )
    parser.add_argument(
        "--variables",
        choices=[Columns.OF_RELATION.value, Columns.OF_RULES.value],
        default=Columns.OF_RELATION.value,
        help="whose variables hold the rows of stored relations: those of the relations (default), or of the rules, "
        "as in the Push paper, which makes more nodes",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    graph = application_graph(read_checked(arguments.program), columns=Columns(arguments.variables))
    shown = FORMATS[arguments.format or format_of(arguments.output)](graph)
    if arguments.output is None:
        print(shown)
    else:
        write_text(arguments.output, f"{shown}\n")
    return 0


def format_of(path: str | None) -> str:
    """The format that the suffix of a file stands for."""
    suffix = "" if path is None else Path(path).suffix.removeprefix(".")
    return {"dot": "dot", "gv": "dot", "svg": "svg"}.get(suffix, "text")


def write_text(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
