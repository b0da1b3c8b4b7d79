"""`tidelog query`: the answers to one atom, tab separated, in order."""

from __future__ import annotations

import argparse
import sys

import pyarrow as pa

from tidelog.cli.evaluation import add_evaluation, evaluation
from tidelog.cli.programs import add_program, read_runnable
from tidelog.connectors.directives import in_order
from tidelog.query import parse_question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("query", metavar="QUERY", help="an atom such as 'path(\"a\", X)'; _ leaves a column out")
    parser.add_argument("--header", action="store_true", help="print the names of the variables first")
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    checked = read_runnable(arguments.program)
    parse_question(arguments.query, checked)  # what cannot be asked is said before any work
    with evaluation(checked, arguments) as session:
        found = session.query(arguments.query)
    if not found.schema.arity:
        print("true" if len(found) else "false")
        return 0
    if arguments.header:
        print("\t".join(found.schema.names))
    columns = [column.cast(pa.large_string()).to_pylist() for column in in_order(found.to_arrow()).columns]
    sys.stdout.writelines("\t".join(row) + "\n" for row in zip(*columns, strict=True))
    return 0
