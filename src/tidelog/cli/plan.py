"""`tidelog plan`: strata, rules and joins as they will be computed, as text."""

from __future__ import annotations

import argparse

from tidelog.cli.programs import add_program, read_checked
from tidelog.plan.lower import lower
from tidelog.plan.optimize import optimize
from tidelog.plan.printer import print_plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)


def run(arguments: argparse.Namespace) -> int:
    print(print_plan(optimize(lower(read_checked(arguments.program)))))
    return 0
