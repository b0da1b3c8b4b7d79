"""`tidelog check`: every error and warning of a program, without running it."""

from __future__ import annotations

import argparse

from tidelog.cli.programs import add_program, read_checked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)


def run(arguments: argparse.Namespace) -> int:
    checked = read_checked(arguments.program)
    counts = [
        counted(len(checked.schemas), "relation", "relations"),
        counted(sum(1 for _ in checked.program.rules), "rule", "rules"),
        counted(len(checked.strata), "stratum", "strata"),
        counted(len(checked.warnings), "warning", "warnings"),
    ]
    print(f"{arguments.program}: no errors ({', '.join(counts)})")
    return 0


def counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
