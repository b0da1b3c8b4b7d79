"""`tidelog compile`: the code that is generated for each rule."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tidelog.analysis.checked import CheckedProgram
from tidelog.cli.programs import add_program, read_checked
from tidelog.cli.rule_codes import rule_codes
from tidelog.codegen.operands import NotPushed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)


def run(arguments: argparse.Namespace) -> int:
    print("\n\n".join(sources(read_checked(arguments.program))))
    return 0


def sources(checked: CheckedProgram) -> Iterator[str]:
    """The code of each rule, or why there is none."""
    found = False
    for stratum, codes in rule_codes(checked):
        if stratum.closed is not None:
            yield f"# {stratum.closed.closure.relation} is a closure: a module computes it, not its rules"
        for rule, code in codes:
            found = True
            if isinstance(code, NotPushed):
                yield f"# {rule.span.line}: {' '.join(rule.text.split())}\n# runs as batches: {code.reason}"
            else:
                yield code.source.rstrip()
    if not found:
        yield "# no rule derives rows from others"
