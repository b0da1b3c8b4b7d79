"""`tidelog query`: the answers to one atom, tab separated, in order."""

from __future__ import annotations

import argparse
import sys

from tidelog.cli.evaluation import add_evaluation, evaluation
from tidelog.cli.programs import add_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("query", metavar="QUERY", help="an atom such as 'path(\"a\", X)'; _ leaves a column out")
    parser.add_argument("--header", action="store_true", help="print the names of the variables first")
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    with evaluation(arguments) as session:
        found = session.query(arguments.query)
    if not found.schema.arity:
        print("true" if len(found) else "false")
        return 0
    if arguments.header:
        print("\t".join(found.schema.names))
    sys.stdout.writelines("\t".join(map(str, row)) + "\n" for row in sorted(found))
    return 0
