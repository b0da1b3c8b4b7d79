"""`tidelog query`: the answers to one atom, tab separated, in order."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from tidelog.analysis.adornment import states_fact
from tidelog.analysis.checked import CheckedProgram
from tidelog.analysis.magic import Rewritten, Sources, Unhelpful, rewrite
from tidelog.analysis.magic_ends import BothEnds, both_ends
from tidelog.analysis.magic_printer import print_ends, print_rewritten
from tidelog.cli.evaluation import add_evaluation, evaluation, opened
from tidelog.cli.programs import add_program, read_runnable
from tidelog.cli.progress import show_progress
from tidelog.connectors.directives import in_order
from tidelog.language.syntax_tree import Atom, Directive
from tidelog.query import parse_question, with_kinds
from tidelog.relation_view import RelationView
from tidelog.session import Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument("query", metavar="QUERY", help="an atom such as 'path(\"a\", X)'; _ leaves a column out")
    parser.add_argument("--header", action="store_true", help="print the names of the variables first")
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--everything", action="store_true", help="derive everything first, not only what the question needs"
    )
    way.add_argument(
        "--show-rewriting", action="store_true", help="print the rules that answer the question, and no answers"
    )
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    checked = read_runnable(arguments.program)
    atom, _ = parse_question(arguments.query, checked)  # what cannot be asked is said before any work
    question, given = with_kinds(atom, checked.schemas[atom.relation]), relations_with_facts(checked)
    rewritten = rewrite(checked, question, given)
    if arguments.show_rewriting:
        print(explanation(rewritten, both_ends(Sources.of(checked, given), question), question))
    elif arguments.everything or checked.productions or isinstance(rewritten, Unhelpful):
        with evaluation(checked, arguments) as session:
            show(session.query(arguments.query), arguments.header)
    else:
        with asking(with_inputs_for(checked, rewritten.reads), arguments) as session:
            found = session.query(arguments.query)
        show(found, arguments.header)
    return 0


def relations_with_facts(checked: CheckedProgram) -> frozenset[str]:
    """The relations that an `.input` or the text may give explicit facts."""
    rules = (rule for stratum in checked.strata for rule in stratum.rules)
    stated = {rule.head.relation for rule in rules if not rule.body and states_fact(rule.head)}
    return frozenset(stated.union(*(directive.relations for directive in checked.inputs)))


def explanation(rewritten: Rewritten | Unhelpful, ends: BothEnds | None, question: Atom) -> str:
    """The rules that answer a question, or why everything is derived for it."""
    if isinstance(rewritten, Unhelpful):
        return f"everything is derived: {rewritten.reason}"
    return print_rewritten(rewritten) if ends is None else print_ends(ends, question)


def with_inputs_for(checked: CheckedProgram, relations: Set[str]) -> CheckedProgram:
    """The program without the `.input` of other relations."""

    def narrowed() -> Iterator[Directive]:
        for directive in checked.inputs:
            kept = tuple(name for name in directive.relations if name in relations)
            if kept:
                yield replace(directive, relations=kept)

    return replace(checked, inputs=tuple(narrowed()))


@contextmanager
def asking(checked: CheckedProgram, arguments: argparse.Namespace) -> Iterator[Session]:
    """A session with the facts that `arguments` name, nothing derived, showing progress while it is used."""
    with show_progress() as observer, opened(checked, arguments, observer) as session:
        session.load_inputs(arguments.facts)
        yield session


def show(found: RelationView, header: bool) -> None:
    """Prints the answers."""
    if not found.schema.arity:
        print("true" if len(found) else "false")
        return
    if header:
        print("\t".join(found.schema.names))
    columns = [column.cast(pa.large_string()).to_pylist() for column in in_order(found.to_arrow()).columns]
    sys.stdout.writelines("\t".join(row) + "\n" for row in zip(*columns, strict=True))
