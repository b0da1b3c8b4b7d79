"""`tidelog run`: facts in, answers out, as Soufflé's command does."""

from __future__ import annotations

import argparse

from tidelog.cli.evaluation import add_evaluation, evaluation
from tidelog.cli.programs import add_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("-D", "--output", metavar="FOLDER", default=".", help="where .output files go (default: here)")
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    with evaluation(arguments) as session:
        session.write_outputs(arguments.output)
    return 0
