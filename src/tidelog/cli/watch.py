"""`tidelog watch`: tuples in, one line each; out the rows of the watched relations that begin and end with each."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from tidelog.activation.dump import count_dummies
from tidelog.activation.location import Location, location_of_text
from tidelog.activation.protocol import Arrivals
from tidelog.activation.watch_rule import WatchRule, cannot_watch
from tidelog.activation.watch_text import read_watch, watchable
from tidelog.activation.watcher import Match, Watcher
from tidelog.analysis.checked import CheckedProgram, SimpleRule
from tidelog.checking import check_program
from tidelog.cli.evaluation import add_evaluation, at_least_one, evaluation
from tidelog.cli.programs import ABOUT_ROWS, STDIN, add_program, read_checked
from tidelog.connectors.change_text import read_change_text
from tidelog.errors import InputError, UsageError
from tidelog.kernels import watch_program as join
from tidelog.language.printer import print_constant
from tidelog.language.syntax_tree import Atom, Constant, Negation, Rule
from tidelog.session import Session

LINE = re.compile(r"\s*([+-])\s*([A-Za-z_?][A-Za-z0-9_?]*)")
HEADINGS = ("arrivals", "effective", "begun", "ended", "dummies", "searches", "entries", "tuples", "rule")

COUNTED = (join.ARRIVALS, join.EFFECTIVE, join.BEGUN, join.ENDED)
TOUCHED = (join.RULE_SEARCHES, join.RULE_ENTRIES_READ, join.TUPLES_READ)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_program(parser)
    parser.add_argument(
        "--stdin", action="store_true", required=True, help="read lines such as +near(1,2). and -near(1,2). from there"
    )
    parser.add_argument(
        "--batch", metavar="N", type=at_least_one, default=1, help="lines read before they are taken (default: 1)"
    )
    parser.add_argument(
        "--location", metavar="ADDRESS", help="read only tuples that have this in the column marked @, where one is"
    )
    parser.add_argument("--stats", action="store_true", help="print at the end what was counted for each rule")
    add_evaluation(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.program == STDIN:
        raise UsageError("tuples are read from standard input: give the program as a file")
    checked = read_checked(arguments.program, silent=ABOUT_ROWS)
    if checked.productions:
        raise UsageError(
            "a watch tells what tuples begin and end, it fires no production rules\n"
            "  hint: tidelog apply shows what they make of changes; in Python, db.run() fires them and db.watch tells"
        )
    here = None if arguments.location is None else location_of_text(arguments.location, checked)
    names = watched_relations(checked)
    direct = [name for name in names if is_decided_by_tuples(name, checked)]
    watches = {name: rules_to_watch(name, checked, name in direct, here) for name in names}
    rest = without_rules_of(checked, direct)
    with evaluation(rest, arguments) as session:
        stream = Stream(Watcher(), tuple(watches), session, derives=bool(rules_of(rest)))
        for relation in sorted({read for found in watches.values() for rule in found for read in rule.relations}):
            stream.watcher.add_relation(session.schemas[relation], session[relation].to_arrow())
        for name, found in watches.items():
            stream.watcher.add_watch(found, checked.schemas[name].kinds)
        for number, lines in numbered_batches(arguments.batch):
            stream.take(lines, number)
    if arguments.stats:
        show_statistics(stream.watcher, direct)
    return 0


def watched_relations(checked: CheckedProgram) -> list[str]:
    """The relations that rules fill and the program outputs; where it outputs none, those that no other rule reads."""
    filled = {rule.head.relation for rule in rules_of(checked)}
    outputs = {name for directive in checked.outputs for name in directive.relations}
    read = {name for rule in rules_of(checked) for name in relations_read(rule) - {rule.head.relation}}
    found = filled & outputs or filled - read
    if not found:
        raise UsageError("there is nothing to watch: the program has no rule with a body")
    return sorted(found)


def is_decided_by_tuples(name: str, checked: CheckedProgram) -> bool:
    """Whether nothing but the rules of a relation has to do with it, and arriving tuples decide all of them."""
    elsewhere = {read for rule in rules_of(checked) for read in relations_read(rule)}
    heads = [{head.relation for head in rule.heads} for rule in checked.program.rules if rule.body]
    return (
        name not in elsewhere
        and all(each == {name} for each in heads if name in each)
        and not any(finding for rule in rules_of_relation(name, checked) for finding in cannot_watch(rule))
    )


def rules_to_watch(name: str, checked: CheckedProgram, directly: bool, here: Location | None) -> tuple[WatchRule, ...]:
    """What to watch of a relation: its rows as the session has them or, `directly`, its rules and the rows given."""
    columns = ", ".join(f"v{at}" for at in range(checked.schemas[name].arity))
    rows = read_watch(f"{name}({columns}) :- {name}({columns}).", checked, here).rules
    return (*watchable(rules_of_relation(name, checked), checked.texts, here), *rows) if directly else rows


def rules_of_relation(name: str, checked: CheckedProgram) -> list[SimpleRule]:
    return [rule for rule in rules_of(checked) if rule.head.relation == name]


def rules_of(checked: CheckedProgram) -> list[SimpleRule]:
    return [rule for part in checked.strata for rule in part.rules if rule.body]


def relations_read(rule: SimpleRule) -> frozenset[str]:
    atoms = (literal.atom if isinstance(literal, Negation) else literal for literal in rule.body)
    return frozenset(atom.relation for atom in atoms if isinstance(atom, Atom))


def without_rules_of(checked: CheckedProgram, names: list[str]) -> CheckedProgram:
    """The program without the rules that are watched instead of carried out."""
    items = tuple(
        item
        for item in checked.program.items
        if not (isinstance(item, Rule) and item.body and item.heads[0].relation in names)
    )
    return check_program(replace(checked.program, items=items))


def numbered_batches(size: int) -> Iterator[tuple[int, list[str]]]:
    """So many lines of standard input at a time, with the number of the first."""
    number = 1
    while lines := list(islice(sys.stdin, size)):
        yield number, lines
        number += len(lines)


@dataclass(frozen=True, slots=True)
class Stream:
    """Where lines go: straight to the index or, where rules derive what is watched, through the session first."""

    watcher: Watcher
    names: tuple[str, ...]
    session: Session
    derives: bool

    def take(self, lines: list[str], number: int) -> None:
        """Takes lines, of which the first has this number, and prints what begins and ends."""
        for _, group in groupby(lines, key=sign_and_relation):
            same = list(group)
            for arrivals in self.arrivals("".join(same), number):
                for match in self.watcher.read(self.watcher.apply(arrivals)):
                    self.show(match)
            number += len(same)
        sys.stdout.flush()

    def arrivals(self, text: str, number: int) -> Iterator[Arrivals]:
        """The tuples of lines of one sign and relation, and what the rules of the session make of them."""
        try:
            change = read_change_text(text, "<stdin>", self.session.program)
        except InputError as error:
            raise InputError(error.message, error.file, error.line + number - 1, error.column) from None
        if self.derives:
            delta = self.session.apply(insert=change.inserted, retract=change.retracted)
            parts = [(name, delta[name].vanished.to_arrow(), -1) for name in delta]
            parts += [(name, delta[name].appeared.to_arrow(), 1) for name in delta]
        else:
            parts = [(name, rows, -1) for name, rows in change.retracted.items()]
            parts += [(name, rows, 1) for name, rows in change.inserted.items()]
        for name, rows, sign in parts:
            if name in self.watcher.index.relations:
                yield self.watcher.arrivals(name, rows, sign)

    def show(self, match: Match) -> None:
        values = ", ".join(print_constant(Constant(value, None)) for value in match.row)
        print(f"{'+' if match.begins else '-'}{self.names[match.watch]}({values}).")


def sign_and_relation(line: str) -> tuple[str, ...]:
    found = LINE.match(line)
    return found.groups() if found else ()


def show_statistics(watcher: Watcher, direct: Sequence[str]) -> None:
    """Prints what was counted for each rule, and for the data indexes that all of them share.

    That rows of a relation are given whose rules are watched directly is shown where there were some.
    """
    print("\t".join(HEADINGS))
    for number, rule in enumerate(watcher.index.rules):
        counts = watcher.index.statistics[number]
        if rule.head in direct and rule.head in rule.relations and not counts[join.ARRIVALS]:
            continue
        dummies = count_dummies(watcher.index, number, watcher.codes)
        figures = [*counts[list(COUNTED)], dummies, *counts[list(TOUCHED)]]
        print("\t".join([*map(str, figures), rule.text]))
    accesses, size = watcher.index.accesses(), watcher.index.size()
    print(f"all: {accesses.searches} searches, {accesses.entries} entries read, {accesses.tuples} tuples read")
    print(f"index: {size.entries} entries, {size.bytes} bytes")
