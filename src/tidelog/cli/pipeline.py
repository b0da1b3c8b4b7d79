"""`tidelog pipeline`: a pipeline file in, answers on Spark out, and kept true."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidelog.cli.evaluation import at_least_one
from tidelog.cli.progress import show_progress
from tidelog.errors import UsageError

ACTIONS = {
    "run": "read the inputs, compute, write the outputs; after the first time, take what has changed",
    "apply": "take what has arrived since the last time, and write the outputs",
    "follow": "take changes as they arrive, until Ctrl-C",
    "status": "show the versions of the state",
    "show": "print the rows of a relation, tab separated",
    "clean": "forget old versions",
}

TELLING = ("run", "apply", "follow")
"""Actions that take long enough to say how far they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, summary in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary.capitalize() + ".")
        action.add_argument("file", metavar="FILE", help="the pipeline file, as pipeline.toml")
        match name:
            case "run":
                action.add_argument(
                    "--anew",
                    action="store_true",
                    help="derive everything again from the inputs, as a new version of the state",
                )
            case "show":
                action.add_argument("relation", metavar="RELATION", help="whose rows")
                action.add_argument("--as-of", metavar="VERSION", type=at_least_one, help="rows of an older version")
            case "status":
                action.add_argument("--as-of", metavar="VERSION", type=at_least_one, help="the tables of one version")
            case "clean":
                action.add_argument(
                    "--keep", metavar="N", type=at_least_one, default=1, help="versions to keep (default: 1)"
                )


def run(arguments: argparse.Namespace) -> int:
    config = load("config_file").read_pipeline(Path(arguments.file))
    with show_progress() as observer:
        hearer = load("run").Hearer(say if arguments.action in TELLING else keep_quiet, changed, observer, watched)
        match arguments.action:
            case "run" | "apply" if config.watch is not None and not getattr(arguments, "anew", False):
                load("watching.run").take_all(config, hearer)
            case "follow" if config.watch is not None:
                load("watching.run").follow(config, hearer)
            case action if config.watch is not None:
                refuse_watch(action)
            case "follow":
                load("follow").follow(config, hearer)
            case "run" if arguments.anew:
                load("run").run_anew(config, hearer)
            case "run" | "apply":
                getattr(load("run"), arguments.action)(config, hearer)
            case "status" if arguments.as_of is None:
                print("\n".join(load("status").status_lines(config)))
            case "status":
                print("\n".join(load("status").version_lines(load("status").version_as_of(config, arguments.as_of))))
            case "show":
                show(load("status").rows_as_of(config, arguments.relation, arguments.as_of, hearer))
            case "clean":
                forgotten = load("status").clean(config, arguments.keep, hearer)
                print(
                    f"{len(forgotten)} versions forgotten"
                    + (f": {forgotten[0]} to {forgotten[-1]}" if forgotten else "")
                )
    return 0


def load(name: str) -> Any:
    """A file of the pipeline; UsageError says what to install where PySpark is missing."""
    try:
        return importlib.import_module(f"tidelog.pipeline.{name}")
    except ModuleNotFoundError as reason:
        if (reason.name or "").partition(".")[0] != "pyspark":
            raise
        raise UsageError("PySpark is not installed: run pip install 'tidelog[spark]'") from None


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def keep_quiet(_line: str) -> None:
    pass


def changed(delta: Any) -> None:
    """Prints what a version did, relation by relation, as `tidelog apply --counts` does."""
    print(f"// version {delta.version}: {delta.counts}")
    for relation in delta:
        print(f"{relation}\t+{delta[relation].appeared_count}\t-{delta[relation].vanished_count}")
    sys.stdout.flush()


def watched(version: int, counts: Mapping[str, tuple[int, int]]) -> None:
    """Prints what a version of a watch did, as `changed` does."""
    print(f"// version {version}")
    for relation, (appeared, vanished) in counts.items():
        if appeared or vanished:
            print(f"{relation}\t+{appeared}\t-{vanished}")
    sys.stdout.flush()


def refuse_watch(action: str) -> None:
    """Raises UsageError: a watch has no versions of answers."""
    instead = (
        "remove state, checkpoint and deltas to begin anew" if action == "run" else "read the deltas of the outputs"
    )
    shown = "run --anew" if action == "run" else action
    raise UsageError(f"a watch keeps no answers, so there is nothing for '{shown}'\n  hint: {instead}")


def show(rows: Any) -> None:
    """Prints rows tab separated, in order, as `tidelog query` does."""
    arrow = importlib.import_module("pyarrow")
    ordered = importlib.import_module("tidelog.connectors.directives").in_order(rows)
    columns = [column.cast(arrow.large_string()).to_pylist() for column in ordered.columns]
    sys.stdout.writelines("\t".join(row) + "\n" for row in zip(*columns, strict=True))
