"""`tidelog run`: facts in, answers out, as Soufflé's command does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.backends.protocol import Tier
from tidelog.checking import check_outputs
from tidelog.cli.evaluation import add_evaluation, evaluation
from tidelog.cli.profile import print_profile
from tidelog.cli.programs import add_program, read_runnable
from tidelog.codegen.pushed_relations import without_intermediates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("-D", "--output", metavar="FOLDER", default=".", help="where .output files go (default: here)")
    parser.add_argument("--profile", action="store_true", help="say on standard error what each rule cost")
    parser.add_argument(
        "--trace", action="store_true", help="print each firing of production rules: rule, instances, what it changed"
    )
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    checked = read_runnable(arguments.program)
    check_outputs(checked, Path(arguments.output))  # said now, not after an hour of work
    if Tier(arguments.tier) is not Tier.VECTORISED:
        checked = without_intermediates(checked)
    with evaluation(checked, arguments, print if arguments.trace else None) as session:
        session.write_outputs(arguments.output)
        if arguments.profile:
            print(print_profile(session.profile()), file=sys.stderr)
    return 0
