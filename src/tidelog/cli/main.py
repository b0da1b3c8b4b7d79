"""The command `tidelog`: chooses the command, turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog import __version__
from tidelog.errors import LimitError, ProgramError, Severity, TidelogError

INTERRUPTED = 130
BROKEN_PIPE = 141
INTERNAL = 70
DEBUG = "show the traceback of an error"

EXIT_CODES = f"""\
exit codes:
  0    done
  1    the program or the query has errors (or fmt --check found a file to format)
  2    a call that cannot be taken: unknown option or relation
  3    a program, facts or changes that cannot be read, or answers that cannot be written
  4    a rule has no value for some row: division by zero, overflow
  5    a limit on rounds, rows, time or memory was reached
  6    a state of a pipeline that cannot be used
  {INTERNAL}   a fault in Tidelog itself
  {INTERRUPTED}  stopped with Ctrl-C
  {BROKEN_PIPE}  the reader of the output went away
"""


@dataclass(frozen=True, slots=True)
class Command:
    """Where a command lives: a file with `add_arguments(parser)` and `run(arguments) -> int`."""

    file: str
    summary: str


# Loaded by name, so that `tidelog fmt` does not wait for libraries that only `tidelog run` needs.
COMMANDS = {
    "run": Command("tidelog.cli.run", "read facts, compute the answers, write them"),
    "apply": Command("tidelog.cli.apply", "compute the answers, apply changes, show what they did, write the answers"),
    "check": Command("tidelog.cli.check", "report every error and warning of a program"),
    "plan": Command("tidelog.cli.plan", "show how a program will be computed"),
    "graph": Command("tidelog.cli.graph", "show or draw which rule hands rows to which: the rule application graph"),
    "network": Command("tidelog.cli.network", "show which joins of production rules are worth retaining, and why"),
    "compile": Command("tidelog.cli.compile", "show the code that is generated for each rule"),
    "watch": Command("tidelog.cli.watch", "read tuples as they come and go, print the matches they begin and end"),
    "query": Command("tidelog.cli.query", "print the answers to one question"),
    "pipeline": Command("tidelog.cli.pipeline", "keep answers true on Spark, as a pipeline file says"),
    "fmt": Command("tidelog.cli.fmt", "put a program into the standard layout"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return run_command(words)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # What is still buffered would raise again when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def run_command(words: Sequence[str]) -> int:
    """The exit code of the command in `words`, its errors reported."""
    try:
        chosen = make_parser(words).parse_args(words)
    except SystemExit as stop:  # argparse has printed help, the version or a usage error
        sys.stdout.flush()
        return int(stop.code or 0)
    try:
        code = int(chosen.run(chosen))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        raise
    except TidelogError as error:
        return report(error, chosen.debug)
    except MemoryError:
        return report(LimitError("there is no memory left; the facts or the answers are too large"), chosen.debug)
    except Exception as error:  # the last door before the user: a fault of ours, said in one line
        return report_fault(error, chosen.debug)


def make_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the whole command line; only the commands named in `words` know their options."""
    parser = argparse.ArgumentParser(
        prog="tidelog",
        description="Rules over changing data: Datalog in Soufflé's dialect.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tidelog {__version__}")
    parser.add_argument("--debug", action="store_true", help=DEBUG)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary.capitalize() + ".",
            epilog=EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in words:
            file = importlib.import_module(command.file)
            file.add_arguments(sub)
            # No default of its own: it would overwrite a --debug that stands before the command.
            sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=DEBUG)
            sub.set_defaults(run=file.run)
    return parser


def report(error: TidelogError, debug: bool) -> int:
    """Prints an error a user can act on; its exit code."""
    if debug:
        traceback.print_exception(error)
        return error.exit_code
    if isinstance(error, ProgramError):
        count = sum(finding.severity is Severity.ERROR for finding in error.diagnostics)
        print(f"{error}\n\n{count} {'error' if count == 1 else 'errors'}", file=sys.stderr)
    else:
        print("\n".join([f"error: {error}", *getattr(error, "__notes__", ())]), file=sys.stderr)
    return error.exit_code


def report_fault(error: Exception, debug: bool) -> int:
    """Prints an error that is not the user's."""
    if debug:
        traceback.print_exception(error)
    else:
        print(
            f"error: a fault in Tidelog itself: {type(error).__name__}: {error}\n"
            "  hint: run the same command with --debug and report what it prints",
            file=sys.stderr,
        )
    return INTERNAL
