"""Takes a program and facts, returns answers: the one object a user holds.

Answers are computed when they are first read, and again after facts were added; only the strata that depend on
what was added are computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Backend
from tidelog.checking import check_outputs, check_program
from tidelog.connectors.directives import read_input, write_outputs
from tidelog.connectors.frames import to_table
from tidelog.connectors.freed_memory import give_back_freed_memory
from tidelog.connectors.protocol import PLAIN, Options, open_source
from tidelog.connectors.python_rows import nullary
from tidelog.errors import EvaluationError, LimitError, UsageError, excerpt
from tidelog.facts.columns import empty_table
from tidelog.language.embedded import RuleBuilder
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import Directive, DirectiveKind, Program
from tidelog.maintain.materialize import materialize
from tidelog.maintain.protocol import SILENT, Limits, Observer
from tidelog.plan.lower import lower
from tidelog.plan.nodes import Plan, StratumPlan
from tidelog.plan.optimize import optimize
from tidelog.plan.walk import relations_read
from tidelog.query import answers, parse_question, schema_of
from tidelog.relation_view import RelationView
from tidelog.schema import Schema


def open_session(
    program: Program | CheckedProgram | str,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),  # noqa: B008  frozen
    observer: Observer = SILENT,
) -> Session:
    """A session over `program`, given as text or parsed, on this machine with `jobs` threads."""
    if jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {jobs}")
    match program:
        case CheckedProgram():
            checked = program
        case Program():
            checked = check_program(program)
        case str():
            checked = check_program(parse(program))
        case RuleBuilder():
            raise UsageError("expected a program, found its builder: call .program() on it")
        case _:
            raise UsageError(f"expected a program or its text, found {type(program).__name__}")
    return Session(checked, LocalBackend(checked.schemas, jobs=jobs), limits=limits, observer=observer)


class Session:
    """A program, the facts given to it, and what follows from them. Also a context manager."""

    def __init__(self, checked: CheckedProgram, backend: Backend, *, limits: Limits, observer: Observer) -> None:
        self._checked = checked
        self._plan = optimize(lower(checked))
        self._backend: Backend | None = backend
        self._limits = limits
        self._observer = observer
        derived = _derived(checked)
        self._dependents = _dependents(self._plan, derived)
        # Rows given to relations that rules derive too are kept apart: to compute such a relation again, it is cleared.
        self._given: dict[str, pa.Table] = {relation: empty_table(checked.schemas[relation]) for relation in derived}
        self._stale = frozenset(relation for stratum in self._plan.strata for relation in stratum.relations)

    @property
    def program(self) -> CheckedProgram:
        """The program as checked: schemas, strata, warnings."""
        return self._checked

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schema of each relation, by name."""
        return self._checked.schemas

    def __getitem__(self, relation: str) -> RelationView:
        schema = self._schema(relation)
        return RelationView(schema, lambda: self._table(relation), lambda: self._count(relation))

    def __contains__(self, relation: object) -> bool:
        return relation in self.schemas

    def __iter__(self) -> Iterator[str]:
        return iter(self.schemas)

    def insert(self, relation: str, rows: Iterable[Sequence[object]] | object) -> int:
        """Adds facts and returns how many were new: all of `rows` or, when one of them is wrong, none.

        `rows` are tuples, a pandas or polars DataFrame, or anything that speaks Arrow.
        """
        schema = self._schema(relation)
        return self._insert(relation, to_table(rows, schema))

    def load(self, relation: str, path: str | Path, options: Options = PLAIN) -> int:
        """Adds the facts of a file, in the format its suffix names, and returns how many were new."""
        schema = self._schema(relation)
        new = self._insert(relation, open_source(Path(path), options).read(schema))
        give_back_freed_memory()
        return new

    def load_inputs(self, folder: str | Path = ".") -> int:
        """Adds what the program's `.input` directives name, read from `folder`, and returns how many were new."""
        self._open_backend()
        read = [
            (relation, read_input(directive, self.schemas[relation], Path(folder), texts=self._checked.texts))
            for directive in self._checked.inputs
            for relation in directive.relations
        ]
        new = 0
        while read:
            new += self._insert(*read.pop(0))
        give_back_freed_memory()
        return new

    def write_outputs(self, folder: str | Path = ".") -> None:
        """Writes what the program's `.output` and `.printsize` directives ask for, all of it or nothing."""
        check_outputs(self._checked, Path(folder))
        outputs = [
            (directive, self.schemas[relation], self._output(directive, relation))
            for directive in self._checked.outputs
            for relation in directive.relations
        ]
        write_outputs(outputs, Path(folder), texts=self._checked.texts)

    def query(self, text: str) -> RelationView:
        """The answers to an atom such as `path("a", X)`: one column for each variable."""
        self._open_backend()
        atom, columns = parse_question(text, self._checked)
        found = answers(atom, self.schemas[atom.relation], self._table(atom.relation))
        return RelationView(columns, lambda: found, lambda: int(found.num_rows))

    def materialize(self) -> None:
        """Computes every derived fact now instead of at the first read."""
        backend = self._open_backend()
        for relation in self._stale & self._given.keys():
            backend.clear(relation)
            backend.insert(relation, self._given[relation])
        self._run(stratum for stratum in self._plan.strata if not self._stale.isdisjoint(stratum.relations))
        self._stale = frozenset()

    def close(self) -> None:
        """Forgets every fact; the session cannot be used any more."""
        self._backend = None
        self._given = {}

    def __repr__(self) -> str:
        state = "closed" if self._backend is None else ", ".join(map(str, self.schemas.values()))
        return f"<tidelog session: {state}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_backend(self) -> Backend:
        if self._backend is None:
            raise UsageError("the session is closed: open a new one with tidelog.open")
        return self._backend

    def _schema(self, relation: str) -> Schema:
        """The schema of `relation`; UsageError when there is none or the session is closed."""
        self._open_backend()
        return schema_of(relation, self._checked)

    def _table(self, relation: str) -> pa.Table:
        """The rows of `relation`, computed now if facts were added since the last read."""
        if self._stale:
            self.materialize()
        return self._open_backend().table(relation)

    def _count(self, relation: str) -> int:
        """How many rows `relation` has, computed now if facts were added since the last read."""
        if self._stale:
            self.materialize()
        return self._open_backend().count(relation)

    def _output(self, directive: Directive, relation: str) -> pa.Table:
        """The rows that `directive` writes; to print a size, rows without columns are enough."""
        if directive.kind is DirectiveKind.PRINTSIZE:
            return nullary(self._count(relation))
        return self._table(relation)

    def _insert(self, relation: str, rows: pa.Table) -> int:
        """Adds `rows`; how many of them had not been given before."""
        backend = self._open_backend()
        if relation in self._given:
            known = self._given[relation]
            self._given[relation] = _union(known, rows)
            new = self._given[relation].num_rows - known.num_rows
        else:
            if relation in self._stale:  # the facts of the text come first, so that the count is right
                self._run(stratum for stratum in self._plan.strata if relation in stratum.relations)
                self._stale -= {relation}
            new = backend.insert(relation, rows)
        if new:
            self._stale |= self._dependents[relation]
        return new

    def _run(self, strata: Iterable[StratumPlan]) -> None:
        """Derives what the rules of `strata` give."""
        plan = replace(self._plan, strata=tuple(strata))
        try:
            materialize(plan, self._open_backend(), self._limits, self._observer)
        except EvaluationError as error:
            for line in excerpt(error.span, self._checked.texts):
                error.add_note(line)
            raise
        except MemoryError as reason:
            names = ", ".join(f"'{relation}'" for stratum in plan.strata for relation in stratum.relations)
            raise LimitError(
                f"there is no memory left to compute {names}\n"
                "  hint: bound what the rules derive, or set --limit-memory or limits=Limits(memory=…) to stop earlier"
            ) from reason


def _derived(checked: CheckedProgram) -> frozenset[str]:
    """Relations that some rule derives; facts of the text do not count, they never change."""
    return frozenset(rule.head.relation for stratum in checked.strata for rule in stratum.rules if rule.body)


def _dependents(plan: Plan, derived: frozenset[str]) -> dict[str, frozenset[str]]:
    """For each relation, the derived relations that may change when rows are added to it."""
    readers: dict[str, set[str]] = {relation: {relation} & derived for relation in plan.schemas}
    for stratum in plan.strata:
        for rule in (*stratum.once, *stratum.first, *stratum.rounds):
            for relation in relations_read(rule.node):
                readers[relation].update(stratum.relations)
    return {relation: _reachable(relation, readers) for relation in readers}


def _reachable(start: str, readers: Mapping[str, set[str]]) -> frozenset[str]:
    """Everything that reads `start`, reads what reads it, and so on."""
    known: set[str] = set()
    new = set(readers[start])
    while new:
        known |= new
        new = {reader for relation in new for reader in readers[relation]} - known
    return frozenset(known)


def _union(known: pa.Table, rows: pa.Table) -> pa.Table:
    """The different rows of both tables."""
    if not known.num_columns:
        return rows.slice(0, 1) if rows.num_rows else known
    both = pa.concat_tables([known, rows])
    return both.group_by(known.column_names, use_threads=False).aggregate([]).cast(known.schema)
