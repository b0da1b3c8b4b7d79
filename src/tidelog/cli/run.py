"""`tidelog run`: facts in, answers out, as Soufflé's command does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.checking import check_outputs
from tidelog.cli.evaluation import add_evaluation, evaluation
from tidelog.cli.profile import print_profile
from tidelog.cli.programs import add_program, read_runnable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("-D", "--output", metavar="FOLDER", default=".", help="where .output files go (default: here)")
    parser.add_argument("--profile", action="store_true", help="say on standard error what each rule cost")
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    checked = read_runnable(arguments.program)
    check_outputs(checked, Path(arguments.output))  # said now, not after an hour of work
    with evaluation(checked, arguments) as session:
        session.write_outputs(arguments.output)
        if arguments.profile:
            print(print_profile(session.profile()), file=sys.stderr)
    return 0
