"""`tidelog network`: the influence graph of production rules, and what each strategy retains for them, and why."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from tidelog.analysis.checked import CheckedProgram
from tidelog.cli.programs import add_program, read_checked
from tidelog.errors import UsageError
from tidelog.plan.retention.print_network import print_cosma, print_rete, print_treat

STRATEGIES: dict[str, Callable[[CheckedProgram], Iterator[str]]] = {
    "cosma": print_cosma,
    "rete": print_rete,
    "treat": print_treat,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument(
        "--strategy",
        choices=[*STRATEGIES],
        default="cosma",
        help="what to retain: what the analysis says (cosma, the default), every join (rete), or no join (treat)",
    )


def run(arguments: argparse.Namespace) -> int:
    checked = read_checked(arguments.program)
    if not checked.productions:
        raise UsageError("the program has no production rules: only these have a network")
    print("\n".join(STRATEGIES[arguments.strategy](checked)))
    return 0
