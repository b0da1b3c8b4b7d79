"""`tidelog network`: the influence graph of production rules, and what each strategy retains for them, and why."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from tidelog.analysis.checked import CheckedProgram
from tidelog.cli.graph import format_of, write_text
from tidelog.cli.programs import add_program, read_checked
from tidelog.errors import UsageError
from tidelog.plan.retention.network import Retention
from tidelog.plan.retention.print_network import print_atreat, print_cosma, print_rete, print_treat
from tidelog.production.network.draw_network import dot_network, draw_network

STRATEGIES: dict[Retention, Callable[[CheckedProgram], Iterator[str]]] = {
    Retention.COSMA: print_cosma,
    Retention.RETE: print_rete,
    Retention.TREAT: print_treat,
    Retention.ATREAT: print_atreat,
}

FORMATS: dict[str, Callable[[CheckedProgram, Retention], str]] = {
    "text": lambda checked, retention: "\n".join(STRATEGIES[retention](checked)),
    "dot": dot_network,
    "svg": draw_network,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument(
        "--strategy",
        choices=[strategy.value for strategy in STRATEGIES],
        default=Retention.COSMA.value,
        help="what to retain: what the analysis says (cosma, the default), every join (rete), the instances of each "
        "rule (treat), or selections that leave little (atreat)",
    )
    parser.add_argument(
        "--format",
        choices=[*FORMATS],
        help="text to read, dot for Graphviz, or svg, a picture (default: what the suffix of -o says, else text)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    checked = read_checked(arguments.program)
    if not checked.productions:
        raise UsageError("the program has no production rules: only these have a network")
    show = FORMATS[arguments.format or format_of(arguments.output)]
    shown = show(checked, Retention(arguments.strategy))
    if arguments.output is None:
        print(shown)
    else:
        write_text(arguments.output, f"{shown}\n")
    return 0
