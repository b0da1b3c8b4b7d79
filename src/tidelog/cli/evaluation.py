"""What `run` and `query` share: facts, threads, limits and progress, as options and as an open session."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import Tier
from tidelog.cli.progress import show_progress
from tidelog.maintain.protocol import Limits, Observer
from tidelog.production.firing import OnFiring
from tidelog.session import Session, open_session

SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def add_evaluation(parser: argparse.ArgumentParser) -> None:
    default = Limits()
    parser.add_argument("-F", "--facts", metavar="FOLDER", default=".", help="where .input files are (default: here)")
    parser.add_argument("-j", "--jobs", metavar="N", type=at_least_one, default=1, help="threads (default: 1)")
    parser.add_argument(
        "--tier",
        choices=[tier.value for tier in Tier],
        default=Tier.AUTO.value,
        help="how rules run: as batches of rows (vectorised), by code compiled for each (push), or auto, the default: "
        "batches to start with, and code for what takes long",
    )
    limits = parser.add_argument_group("limits", "Evaluation stops with exit code 5 where one is reached.")
    limits.add_argument(
        "--limit-rounds", metavar="N", type=at_least_one, help=f"rounds of one stratum (default: {default.rounds:,})"
    )
    limits.add_argument(
        "--limit-rows", metavar="N", type=at_least_one, help=f"rows derived (default: {default.rows:,})"
    )
    limits.add_argument(
        "--limit-seconds", metavar="S", type=positive, help=f"seconds of evaluation (default: {default.seconds:,})"
    )
    limits.add_argument(
        "--limit-memory",
        metavar="BYTES",
        type=size,
        help=f"memory of the process; K, M and G are understood (default: {default.memory / 2**30:.1f}G)",
    )


@contextmanager
def evaluation(
    checked: CheckedProgram, arguments: argparse.Namespace, on_firing: OnFiring | None = None
) -> Iterator[Session]:
    """A session over the program and the facts that `arguments` name, showing progress while it computes.

    Its production rules have been run; `on_firing` hears of each firing.
    """
    with ExitStack() as ending:
        with show_progress() as observer:
            session = ending.enter_context(opened(checked, arguments, observer))
            session.load_inputs(arguments.facts)
            if checked.productions:
                session.run(on_firing)
            session.materialize()
        yield session


def opened(checked: CheckedProgram, arguments: argparse.Namespace, observer: Observer) -> Session:
    """A session without facts, as `arguments` ask for."""
    asked = {name: getattr(arguments, f"limit_{name}") for name in ("rounds", "rows", "seconds", "memory")}
    limits = replace(Limits(), **{name: value for name, value in asked.items() if value is not None})
    return open_session(
        checked,
        jobs=arguments.jobs,
        tier=Tier(arguments.tier),
        profile=getattr(arguments, "profile", False),
        limits=limits,
        observer=observer,
    )


def at_least_one(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1")
    return int(text)


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return number


def size(text: str) -> int:
    """Bytes: `4000000`, `500M`, `2G`."""
    matched = re.fullmatch(r"(\d+)([KMGT]?)B?", text.upper())
    if matched is None or not int(matched[1]):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 500M or 2G")
    return int(matched[1]) * SIZES[matched[2]]
