"""Facts, rules and what follows from them, to read and to change: for real in a session, for a while in a what-if."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import MappingProxyType, TracebackType

from tidelog.analysis.checked import CheckedProgram
from tidelog.connectors.frames import to_table
from tidelog.errors import UsageError
from tidelog.facts.chain import ChainRecord
from tidelog.facts.change import Change, Outcome, in_sequence
from tidelog.language.syntax_tree import Program
from tidelog.production.firing import OnFiring
from tidelog.query import answers, parse_question, schema_of, with_kinds
from tidelog.relation_view import RelationView
from tidelog.schema import Row, Schema
from tidelog.world.change_block import ChangeBlock, Rows, RowsByRelation, change_of
from tidelog.world.delta import Counts, Delta, counts_of
from tidelog.world.model import Model, Step
from tidelog.world.rule_edits import facts_added, with_rules, without_rules

NONE: RowsByRelation = MappingProxyType({})


class World(ABC):
    """What a session and a what-if have in common. Each says in `_commit` what becomes of a step."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def program(self) -> CheckedProgram:
        """The program as checked: schemas, strata, warnings."""
        return self._model.checked

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schema of each relation, by name."""
        return self._model.checked.schemas

    def __getitem__(self, relation: str) -> RelationView:
        schema = self._schema(relation)

        def read_model() -> Model:
            self._schema(relation)  # it may have gone with the rules that declared it
            return self._model

        return RelationView(schema, lambda: read_model().table(relation), lambda: read_model().count(relation))

    def __contains__(self, relation: object) -> bool:
        return relation in self.schemas

    def __iter__(self) -> Iterator[str]:
        return iter(self.schemas)

    def query(self, text: str) -> RelationView:
        """The answers to an atom such as `path("a", X)`: one column for each variable.

        Before anything is derived, a question that binds a column derives only what it needs, and keeps none of it.
        """
        self._check_readable()
        atom, columns = parse_question(text, self.program)
        schema = self.schemas[atom.relation]
        found = answers(atom, schema, self._model.rows_for(with_kinds(atom, schema)))
        return RelationView(columns, lambda: found, lambda: int(found.num_rows))

    def insert(self, relation: str, rows: Rows) -> int:
        """Adds facts and returns how many were new: all of `rows` or, when one of them is wrong, none.

        `rows` are tuples, dictionaries, a pandas or polars DataFrame, or anything that speaks Arrow.
        """
        table = to_table(rows, self._schema(relation))
        self._check_changeable()
        if not self._model.is_materialized:
            return self._model.load(relation, table)
        return self._apply(Change(inserted={relation: table})).counts.inserted

    def retract(self, relation: str, rows: Rows) -> int:
        """Takes facts away that were given and returns how many were there: all of `rows` or, when one is wrong, none.

        What rules derive cannot be taken away: retract the facts it follows from.
        """
        table = to_table(rows, self._schema(relation))
        self._check_changeable()
        if not self._model.is_materialized:
            return self._model.unload(relation, table)
        return self._apply(Change(retracted={relation: table})).counts.retracted

    def apply(
        self,
        *unnamed: object,
        insert: RowsByRelation = NONE,
        retract: RowsByRelation = NONE,
        at: int | None = None,
    ) -> Delta:
        """What inserting and retracting these rows, by relation, did: all of it together or nothing.

        With `at` it is late news for the last `run` of parallel production rules: of the facts that it started from
        (0), or of one of its cycles. Everything becomes what a run from the start with that news leads to.
        """
        if unnamed:
            raise UsageError(
                "apply: it is not said what to do with these rows\n"
                '  hint: name it, as in db.apply(insert={"edge": [(1, 2)]}, retract={"edge": [(2, 3)]})'
            )
        change = change_of(insert, retract, self._schema)
        if at is None:
            return self._apply(change)
        self._check_changeable()
        return self._commit(self._model.rules_revised(change, at))

    def run(self, on_firing: OnFiring | None = None) -> Delta:
        """What the production rules did, fired until none of them is firable: one change, or on an error none.

        `on_firing` is told of each firing while they run: which rules, for which instances, what came and what went.
        """
        self._check_changeable()
        return self._commit(self._model.rules_run(on_firing))

    def history(self, relation: str, row: Row) -> tuple[ChainRecord, ...]:
        """When the fact came and went in the last `run`, and by which rules; the first record is how it was before.

        Without a record, no production rule has changed anything about it.
        """
        fact = to_table([row], self._schema(relation))
        if any(rule.head.relation == relation and rule.body for part in self.program.strata for rule in part.rules):
            raise UsageError(
                f"'{relation}' is derived: no production rule inserts or deletes it\n"
                "  hint: ask for the history of the facts it follows from"
            )
        return self._model.last_run.read_chains().chain(relation, fact)

    def change(self) -> ChangeBlock:
        """A block that collects insertions and retractions: `with db.change() as change:`"""
        self._check_changeable()
        return ChangeBlock(self._schema, self._apply)

    def add_rules(self, rules: str | Program) -> Delta:
        """What adding rules, declarations and facts, as text or parsed, did to the answers; the facts stay."""
        self._check_changeable()
        before = self.program
        after = with_rules(before, rules, self._model.rule_ids)
        return self._commit(Step(before, after, Change(inserted=facts_added(before, after))))

    def remove_rules(self, rules: str | Program) -> Delta:
        """What removing rules, given as they stand in the program, did to the answers; the facts stay."""
        self._check_changeable()
        return self._commit(Step(self.program, without_rules(self.program, rules), Change()))

    def whatif(self, *, insert: RowsByRelation = NONE, retract: RowsByRelation = NONE) -> Hypothetical:
        """A world with these changes, for the time of a block: `with db.whatif(…) as hypothetical:`"""
        self._check_changeable()
        return Hypothetical(self, self._model, change_of(insert, retract, self._schema))

    @abstractmethod
    def _commit(self, step: Step) -> Delta:
        """Takes `step`, all of it or nothing, and returns what it did."""

    @abstractmethod
    def _check_readable(self) -> None:
        """Raises UsageError when this world is over."""

    def _check_changeable(self) -> None:
        """Raises UsageError when this world cannot be changed now."""
        self._check_readable()
        if self._model.is_read_only:
            raise UsageError("who is told of a change or a firing may read but not change: make the change afterwards")
        if self._model.current is not self:
            raise UsageError("inside a what-if block, changes go to its own object, not to the world around it")

    def _apply(self, change: Change) -> Delta:
        self._check_changeable()
        return self._commit(Step(self.program, self.program, change))

    def _schema(self, relation: str) -> Schema:
        """The schema of `relation`; UsageError when there is none or the world is over."""
        self._check_readable()
        return schema_of(relation, self.program)

    def _delta(self, step: Step, outcome: Outcome) -> Delta:
        schemas = step.after.schemas
        if step.before is not step.after:
            schemas = {**step.before.schemas, **schemas}
        return Delta(outcome.deltas, schemas, counts_of(step.change, outcome))


class Hypothetical(World):
    """A world that is taken back where its block ends: neither history nor subscribers hear of it."""

    def __init__(self, around: World, model: Model, change: Change) -> None:
        super().__init__(model)
        self._around = around
        self._change = change
        self._steps: list[Step] = []
        self._outcomes: list[Outcome] = []
        self._counts = Counts()
        self._schemas: dict[str, Schema] = {}
        self._is_open = False
        self._is_over = False

    @property
    def delta(self) -> Delta:
        """Everything that is different from the world around it, as long as the block runs and afterwards."""
        return Delta(in_sequence(self._outcomes).deltas, self._schemas, self._counts)

    def __enter__(self) -> Hypothetical:
        self._around._check_changeable()
        if self._is_open or self._is_over:
            raise UsageError("a what-if has one block: ask for a new one with whatif")
        self._model.current = self
        self._is_open = True
        try:
            self._apply(self._change)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while self._steps and not self._model.is_closed:
                self._model.take_back(self._steps.pop())
        finally:
            self._end()

    def __repr__(self) -> str:
        return f"<what-if: {'over' if self._is_over else repr(self.delta)}>"

    def _commit(self, step: Step) -> Delta:
        done, outcome = self._model.take(step)
        delta = self._delta(step, outcome)
        self._steps.append(done)
        self._outcomes.append(outcome)
        self._counts += delta.counts
        self._schemas.update({**step.before.schemas, **step.after.schemas})
        return delta

    def _end(self) -> None:
        self._is_open, self._is_over = False, True
        self._model.current = self._around

    def _check_readable(self) -> None:
        if not self._is_open:
            state = "is over" if self._is_over else "has not begun"
            raise UsageError(f"the what-if {state}: use it inside its with block")
        self._model.check_open()
