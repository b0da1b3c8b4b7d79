"""`tidelog apply`: changes in, what appears and vanishes out, and the outputs as they are in the end.

A change is one of the facts given. Where there are production rules, it leads to what running them again leads to.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.analysis.checked import CheckedProgram
from tidelog.checking import check_outputs
from tidelog.cli.evaluation import add_evaluation, evaluation
from tidelog.cli.programs import ABOUT_ROWS, STDIN, add_program, read_runnable
from tidelog.connectors.change_files import ChangeFormat, ChangeOptions, read_change, read_change_file
from tidelog.connectors.change_text import change_lines
from tidelog.errors import UsageError
from tidelog.facts.change import Change, NetDelta, Outcome, in_sequence, net_delta
from tidelog.session import Session
from tidelog.world.delta import Delta


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument(
        "changes",
        metavar="CHANGES",
        nargs="+",
        help="files with lines such as +edge(1,2). and -edge(2,3)., or rows with an operation column, each applied as "
        "one change, in this order; - reads standard input",
    )
    parser.add_argument("-D", "--output", metavar="FOLDER", default=".", help="where .output files go (default: here)")
    parser.add_argument("--counts", action="store_true", help="print how many rows appeared and vanished, not the rows")
    parser.add_argument(
        "--format",
        choices=[format.value for format in ChangeFormat],
        help="how change files are written (default: by their suffix, text where that says nothing)",
    )
    parser.add_argument("--relation", metavar="NAME", help="whose rows they are (default: the name of the file)")
    parser.add_argument("--operation-column", metavar="NAME", default="op", help="the column with + or - (default: op)")
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    checked = read_runnable(arguments.program, silent=ABOUT_ROWS)
    check_outputs(checked, Path(arguments.output))
    changes = [(name, read(name, checked, arguments)) for name in named(checked, arguments)]
    with evaluation(checked, arguments) as session:
        for name, change in changes:
            delta = apply_and_run(session, change) if checked.productions else apply(session, change)
            show(name, delta, arguments)
        session.write_outputs(arguments.output)
    return 0


def apply(session: Session, change: Change) -> Delta:
    """What a change did."""
    return session.apply(insert=change.inserted, retract=change.retracted)


def apply_and_run(session: Session, change: Change) -> Delta:
    """What a change of the facts given did to what production rules leave of them: they are run again."""
    steps = [session.undo(), apply(session, change), session.run()]
    outcome = in_sequence([Outcome(deltas=deltas_of(delta)) for delta in steps])
    return Delta(outcome.deltas, session.schemas, steps[1].counts)


def deltas_of(delta: Delta) -> dict[str, NetDelta]:
    return {name: net_delta(delta[name].appeared.to_arrow(), delta[name].vanished.to_arrow()) for name in delta}


def named(checked: CheckedProgram, arguments: argparse.Namespace) -> list[str]:
    """The change files; UsageError when two things would be read from standard input."""
    names: list[str] = arguments.changes
    readers = names.count(STDIN) + (arguments.program == STDIN)
    readers += any(directive.parameter("IO") == "stdin" for directive in checked.inputs)
    if STDIN in names and readers > 1:
        raise UsageError("only one thing can be read from standard input: give the others as files")
    return names


def read(name: str, checked: CheckedProgram, arguments: argparse.Namespace) -> Change:
    options = ChangeOptions(
        operation_column=arguments.operation_column,
        relation=arguments.relation or "",
        format=None if arguments.format is None else ChangeFormat(arguments.format),
    )
    if name == STDIN:
        return read_change(sys.stdin.buffer.read(), "<stdin>", checked, options)
    return read_change_file(Path(name), checked, options)


def show(name: str, delta: Delta, arguments: argparse.Namespace) -> None:
    """Prints what a change did, in the form that change files have; the counts are a comment."""
    print(f"// {name}: {delta.counts}")
    for relation in delta:
        part = delta[relation]
        if arguments.counts:
            print(f"{relation}\t+{part.appeared_count}\t-{part.vanished_count}")
            continue
        for sign, view in (("-", part.vanished), ("+", part.appeared)):
            sys.stdout.writelines(line + "\n" for line in change_lines(sign, view.to_arrow(), view.schema))
    sys.stdout.flush()
