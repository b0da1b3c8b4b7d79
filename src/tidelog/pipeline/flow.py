"""An open pipeline: a program over DataFrames, whose answers are DataFrames and are kept true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from types import MappingProxyType, TracebackType

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.spark.arrow_frames import frame_of_table
from tidelog.backends.spark.kept_rows import surviving
from tidelog.backends.spark.reasons import RowsLostError
from tidelog.errors import UsageError
from tidelog.facts.change import NetDelta
from tidelog.maintain.protocol import SILENT, Limits, Observer
from tidelog.pipeline.arrow_rows import errors_told
from tidelog.pipeline.config import COMPILED_ROWS, Tier
from tidelog.pipeline.engine import Engine, Rows, Taken, tier_for
from tidelog.pipeline.flow_delta import FlowDelta
from tidelog.pipeline.given_frames import given_frames
from tidelog.pipeline.production.strategy import ProductionReduction
from tidelog.pipeline.starting import start_engine
from tidelog.pipeline.state import (
    Changed,
    Commit,
    Replaced,
    StateStore,
    VersionInfo,
    fingerprint,
    last_version,
)
from tidelog.plan.reduction import Reduction, Strategy
from tidelog.query import schema_of
from tidelog.schema import Schema

Frames = Mapping[str, DataFrame]
NONE: Frames = MappingProxyType({})
NO_BATCHES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """How a flow works. `keep` names the derived relations that the state stores; `tier` None goes by size."""

    keep: frozenset[str] = frozenset()
    tier: Tier | None = None
    compiled_rows: int = COMPILED_ROWS
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)
    observer: Observer = SILENT
    reduction: Strategy | None = None


def begin_flow(
    checked: CheckedProgram,
    spark: SparkSession,
    inputs: Frames,
    store: StateStore | None,
    settings: FlowSettings,
    batches: Mapping[str, int] = NO_BATCHES,
) -> Flow:
    """A flow over inputs that have the relations' own columns; what a state has already stays as older versions.

    `batches` says up to where the inputs have what streams will bring.
    """
    tier = settings.tier or _tier_for(inputs, settings.compiled_rows)
    last = store.last() if store is not None else None
    flow = Flow(spark, partial(_engine, checked, tier, spark, settings), store, settings.keep, last)
    flow._begin(inputs, batches)
    return flow


def resume_flow(checked: CheckedProgram, spark: SparkSession, store: StateStore, settings: FlowSettings) -> Flow:
    """The flow that goes on from the last version of a state."""
    last = last_version(store, fingerprint(checked))
    if last is None:
        raise UsageError(f"there is no state at {store.address} yet: open a flow with inputs first")
    tier = settings.tier or tier_for(_sizes(last, checked), settings.compiled_rows)
    flow = Flow(spark, partial(_engine, checked, tier, spark, settings), store, settings.keep, last)
    flow._go_on()
    return flow


def _engine(checked: CheckedProgram, tier: Tier, spark: SparkSession, settings: FlowSettings) -> Engine:
    return start_engine(
        checked,
        tier,
        spark,
        jobs=settings.jobs,
        limits=settings.limits,
        observer=settings.observer,
        reduction=settings.reduction,
    )


class Flow:
    """A program, its facts and what follows from them. Also a context manager.

    `start` gives an engine without facts. Where rows are lost with executors that kept them, another one takes over,
    from the last version of the state.
    """

    def __init__(
        self,
        spark: SparkSession,
        start: Callable[[], Engine],
        store: StateStore | None,
        keep: frozenset[str],
        version: VersionInfo | None,
    ) -> None:
        self._spark = spark
        self._start = start
        self._engine = start()
        self._store = store
        self._kept = _kept(self.program, self._engine, keep)
        self._committed = version
        self._version = version.number if version else 0
        self._fingerprint = fingerprint(self.program)
        self._lock = RLock()

    @property
    def program(self) -> CheckedProgram:
        """The program as checked: schemas, strata, warnings."""
        return self._engine.checked

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The schema of each relation, by name."""
        return self._engine.checked.schemas

    @property
    def tier(self) -> Tier:
        """Where the facts are kept."""
        return self._engine.tier

    @property
    def reductions(self) -> tuple[Reduction, ...]:
        """How recursive strata were shared among partitions, in the order in which they were run."""
        return tuple(self._engine.choices)

    @property
    def production(self) -> ProductionReduction | None:
        """How production rules were run the last time; None where the program has none."""
        return self._engine.production

    @property
    def version(self) -> int:
        """How many changes were taken, the first being the inputs; the state has it under this number."""
        return self._version

    @property
    def batches(self) -> Mapping[str, int]:
        """The last batch taken from each stream."""
        return self._committed.batches if self._committed else NO_BATCHES

    @property
    def stored(self) -> frozenset[str]:
        """The relations that can be read as of an older version."""
        return frozenset(name for name in self.schemas if self._is_stored(name))

    def versions_of(self, relation: str) -> tuple[int, ...]:
        """The versions that the state keeps and that have the rows of a relation."""
        schema_of(relation, self.program)
        known = self._store.versions() if self._store is not None else ()
        return tuple(one.number for one in known if relation in one.tables)

    def __getitem__(self, relation: str) -> DataFrame:
        return self.read(relation)

    def __iter__(self) -> Iterator[str]:
        """The names of the relations."""
        return iter(self.schemas)

    def __contains__(self, relation: object) -> bool:
        return relation in self.schemas

    def read(self, relation: str, version: int | None = None) -> DataFrame:
        """The rows of a relation, as they are or as they were at a version of the state."""
        schema = schema_of(relation, self.program)
        if self._store is not None and self._is_stored(relation):
            return self._store.read(relation, self._version if version is None else version)
        if version is not None and version != self._version:
            raise UsageError(
                f"'{relation}' is not kept in the state, so only its rows of now can be read; name it in keep"
            )
        return self._frame(self._engine.rows(relation), schema)

    def deltas(self, relation: str, version: int) -> tuple[DataFrame, DataFrame]:
        """The rows of a stored relation that appeared and vanished in a version."""
        schema_of(relation, self.program)
        if self._store is None or not self._is_stored(relation):
            raise UsageError(f"'{relation}' is not kept in a state, so its deltas are known only when they happen")
        return self._store.deltas(relation, version)

    def given(self, relation: str) -> DataFrame:
        """The facts given to a relation, without what rules derive."""
        schema = schema_of(relation, self.program)
        table = self._engine.given_table(relation)
        if self.tier is Tier.SPARK and self._store is not None and table in self._tables:
            return self._store.read(table, self._version)
        return self._frame(self._engine.given(relation), schema)

    def count(self, relation: str) -> int:
        """How many rows a relation has."""
        schema_of(relation, self.program)
        return self._engine.count(relation)

    def apply(self, *unnamed: object, insert: Frames = NONE, retract: Frames = NONE) -> FlowDelta:
        """What inserting and retracting the rows of these frames, by relation, did: all of it together or nothing."""
        if unnamed:
            raise UsageError(
                "apply: it is not said what to do with these rows\n"
                '  hint: name it, as in flow.apply(insert={"edge": df}, retract={"edge": other})'
            )
        return self.take(given_frames(insert, self.program, "insert"), given_frames(retract, self.program, "retract"))

    def take(
        self,
        inserted: Mapping[str, Rows],
        retracted: Mapping[str, Rows],
        batches: Mapping[str, int] = NO_BATCHES,
        note: str = "",
    ) -> FlowDelta:
        """`apply` for rows that have the relations' own columns; `batches` are taken with them, in the same commit."""
        with self._lock:
            return surviving(
                lambda: self._keep(self._engine.take(inserted, retracted), batches, note), self._start_over
            )

    def take_if_any(self, inserted: Frames, retracted: Frames, note: str) -> FlowDelta | None:
        """`take`, unless that changes nothing: then there is no new version."""
        with self._lock:
            return surviving(lambda: self._keep_if_any(self._engine.take(inserted, retracted), note), self._start_over)

    def close(self) -> None:
        """Forgets what is in the driver; the state stays."""
        self._engine.close()

    def __enter__(self) -> Flow:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        relations = ", ".join(map(str, self.schemas.values()))
        return f"<tidelog flow, version {self._version}, {self.tier.value}: {relations}>"

    @property
    def _tables(self) -> Mapping[str, int]:
        """The tables of the last version, with their numbers of rows."""
        return self._committed.tables if self._committed else {}

    def _begin(self, inputs: Frames, batches: Mapping[str, int]) -> None:
        """Takes the facts of the inputs, and derives what follows from them."""
        surviving(lambda: self._take_inputs(inputs, batches), self._start_anew)

    def _go_on(self) -> None:
        """Takes the facts from the state, and derives what follows from them again."""
        surviving(self._take_state, self._start_anew)

    def _start_over(self) -> None:
        """Goes back to the last version, when an unknown part of what the engine had is gone."""
        if self._store is None:
            raise RowsLostError(
                "rows of this flow were lost together with the executors that kept them\n"
                "  hint: open it again; with state=FOLDER it would go on from its last version by itself"
            )
        self._start_anew()
        self._take_state()

    def _start_anew(self) -> None:
        self._engine = self._start()

    def _keep(self, taken: Taken, batches: Mapping[str, int], note: str) -> FlowDelta:
        """Commits a change that the engine took, or takes it back."""
        try:
            self._commit(Commit(self._changes(taken), self._fingerprint, batches, note))
        except BaseException:
            self._engine.take_back(taken)
            raise
        return FlowDelta(self._spark, taken, self.schemas, self._version, self.tier)

    def _keep_if_any(self, taken: Taken, note: str) -> FlowDelta | None:
        is_any = taken.counts.inserted or taken.counts.retracted
        return self._keep(taken, NO_BATCHES, note) if is_any else None

    def _take_inputs(self, inputs: Frames, batches: Mapping[str, int]) -> None:
        for relation, frame in inputs.items():
            self._engine.load(relation, frame)
        self._engine.materialize()
        self._commit(Commit(self._everything(), self._fingerprint, batches, note="inputs", begins=True))

    def _take_state(self) -> None:
        assert self._store is not None
        known = self._tables
        self._kept |= self._engine.derived & known.keys()
        self._engine.forget_facts_of_text()
        for relation in self.schemas:
            table = self._engine.given_table(relation)
            if table in known:
                self._engine.load(relation, _own_rows(self._store, self.tier, table))
        self._engine.materialize()
        new = {relation: Replaced(self._engine.rows(relation)) for relation in self._kept - known.keys()}
        if new:
            self._commit(Commit(new, self._fingerprint, note=f"keeps {', '.join(sorted(new))}"))

    def _commit(self, commit: Commit) -> None:
        if self._store is None:
            self._version += 1
            return
        self._committed = self._store.commit(commit, self._version or None)
        self._version = self._committed.number

    def _everything(self) -> dict[str, Replaced | Changed]:
        """All that the state stores, whole."""
        if self._store is None:
            return {}
        tables: dict[str, Replaced | Changed] = {}
        for relation in self.schemas:
            given = self._engine.given(relation)
            if relation not in self._engine.derived or _is_any(given):
                tables[self._engine.given_table(relation)] = Replaced(given)
            if relation in self._kept:
                tables[relation] = Replaced(self._engine.rows(relation))
        return tables

    def _changes(self, taken: Taken) -> dict[str, Replaced | Changed]:
        """What a change did to the tables that the state stores."""
        if self._store is None:
            return {}
        outcome = taken.outcome
        tables: dict[str, Replaced | Changed] = {}
        for relation in {**outcome.inserted, **outcome.retracted}:
            table = self._engine.given_table(relation)
            if table in self._tables:
                whole = self._at_hand(partial(self._engine.given, relation))
                tables[table] = Changed(outcome.inserted.get(relation), outcome.retracted.get(relation), whole)
            else:
                tables[table] = Replaced(self._engine.given(relation))
        for relation, delta in outcome.deltas.items():
            if relation in self._kept:
                whole = self._at_hand(partial(self._engine.rows, relation))
                tables[relation] = Changed(_some(delta, NetDelta.appeared), _some(delta, NetDelta.vanished), whole)
        return tables

    def _at_hand(self, read: Callable[[], Rows]) -> Callable[[], Rows] | None:
        """A way to all rows of a relation, where they are in the driver."""
        return read if self.tier is Tier.COMPILED else None

    def _frame(self, rows: Rows, schema: Schema) -> DataFrame:
        return frame_of_table(self._spark, rows, schema) if isinstance(rows, pa.Table) else rows

    def _is_stored(self, relation: str) -> bool:
        return relation in self._kept or relation not in self._engine.derived


def _kept(checked: CheckedProgram, engine: Engine, keep: Iterable[str]) -> frozenset[str]:
    """The derived relations that the state stores."""
    asked = set(keep) or {relation for directive in checked.outputs for relation in directive.relations}
    return engine.derived & (asked or set(checked.schemas))


def _tier_for(inputs: Frames, most: int) -> Tier:
    with errors_told(", ".join(inputs)):
        return tier_for((frame.count() for frame in inputs.values()), most)


def _sizes(last: VersionInfo, checked: CheckedProgram) -> Iterator[int]:
    derived = {rule.head.relation for one in checked.strata for rule in one.rules if rule.body}
    derived |= {head.atom.relation for rule in checked.productions for head in rule.heads}
    return (rows for table, rows in last.tables.items() if table not in derived)


def _is_any(rows: Rows) -> bool:
    return bool(rows.num_rows) if isinstance(rows, pa.Table) else not rows.isEmpty()


def _own_rows(store: StateStore, tier: Tier, table: str) -> Rows:
    return store.read_arrow(table) if tier is Tier.COMPILED else store.read(table)


def _some(delta: NetDelta, read: Callable[[NetDelta], pa.Table]) -> pa.Table | None:
    count = delta.appeared_count if read is NetDelta.appeared else delta.vanished_count
    return read(delta) if count else None
