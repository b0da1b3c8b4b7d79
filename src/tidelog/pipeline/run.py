"""`tidelog pipeline run` and `apply`: inputs in, answers out; after the first time only what has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from pyspark.sql import SparkSession

from tidelog.backends.spark.reasons import SPARK_ERRORS, JobError, job_error
from tidelog.backends.spark.session import start_session
from tidelog.errors import UsageError
from tidelog.maintain.protocol import SILENT, Observer
from tidelog.pipeline import feeds
from tidelog.pipeline.changes import snapshot_frames
from tidelog.pipeline.config import ChangeKind, ChangeSource, Pipeline
from tidelog.pipeline.flow import Flow, FlowSettings, begin_flow, resume_flow
from tidelog.pipeline.flow_delta import FlowDelta
from tidelog.pipeline.opening import is_alive
from tidelog.pipeline.sinks import Sinks, check_folders
from tidelog.pipeline.sources import read_source
from tidelog.pipeline.state import StateStore, open_state
from tidelog.pipeline.streams import Streams, forget_checkpoint

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Hearer:
    """Who hears of a run: a line now and then, what each version did, and the engine's rounds.

    Of a watch it is told the version, and how many rows of each relation appeared and vanished."""

    progress: Say
    changed: Callable[[FlowDelta], None]
    observer: Observer = SILENT
    watched: Callable[[int, Mapping[str, tuple[int, int]]], None] = lambda _version, _counts: None


@dataclass(frozen=True, slots=True)
class Opened:
    """A pipeline with its session and its state."""

    pipeline: Pipeline
    spark: SparkSession
    store: StateStore
    hearer: Hearer

    @property
    def settings(self) -> FlowSettings:
        engine = self.pipeline.engine
        return FlowSettings(
            keep=frozenset(self.pipeline.outputs),
            tier=engine.tier,
            compiled_rows=engine.compiled_rows,
            jobs=engine.jobs,
            limits=self.pipeline.limits,
            observer=self.hearer.observer,
        )


def run(pipeline: Pipeline, hearer: Hearer) -> None:
    """Materialises the inputs where there is no state yet; then takes what has changed."""
    with opened(pipeline, hearer) as it:
        if it.store.last():
            flow = resumed(it)
            sinks = sinks_of(it, flow)
            unsaid = {name: source for name, source in pipeline.inputs.items() if name not in pipeline.changes}
            compared = {name: ChangeSource(ChangeKind.SNAPSHOT, source) for name, source in unsaid.items()}
            compared |= snapshots_of(pipeline)
        else:
            flow = begun(it)
            sinks = sinks_of(it, flow)
            compared = {}
        take_changes(it, flow, sinks, compared)


def run_anew(pipeline: Pipeline, hearer: Hearer) -> None:
    """Materialises the inputs as a new version, whatever the state has and whichever program wrote it.

    What streams have brought is in the inputs or is taken again, from the first file on.
    """
    with opened(pipeline, hearer) as it:
        flow = begun(it)
        forget_checkpoint(pipeline.follow)
        take_changes(it, flow, sinks_of(it, flow), {})


def apply(pipeline: Pipeline, hearer: Hearer) -> None:
    """Takes what has changed since the last time."""
    if not pipeline.changes:
        raise UsageError(
            f"{pipeline.file}: there is no [changes] table, so it is not known where changes come from\n"
            "  hint: add one for a relation, or let tidelog pipeline run compare the inputs with the state"
        )
    with opened(pipeline, hearer) as it:
        flow = resumed(it)
        take_changes(it, flow, sinks_of(it, flow), snapshots_of(pipeline))


@contextmanager
def opened(pipeline: Pipeline, hearer: Hearer) -> Iterator[Opened]:
    """Spark started and the state found."""
    with started(pipeline, hearer) as spark:
        yield Opened(pipeline, spark, open_state(pipeline.state.path, spark, format=pipeline.state.format), hearer)


@contextmanager
def started(pipeline: Pipeline, hearer: Hearer) -> Iterator[SparkSession]:
    """Spark started; it ends with the block if it was started here. JobError where it has ended meanwhile by itself."""
    began = perf_counter()
    is_ours = SparkSession.getActiveSession() is None
    spark = start_session(pipeline.spark)
    try:
        if is_ours:
            hearer.progress(f"Spark {spark.version} started on {pipeline.spark.master} in {since(began)}")
        yield spark
    except Exception as reason:
        if is_alive(spark):
            if isinstance(reason, SPARK_ERRORS):
                raise job_error(reason) from reason
            raise
        raise JobError(
            "Spark has ended in the middle of the work: it was killed, or had no memory left\n"
            "  hint: start the same command again, it goes on from the last version; give Spark more memory with "
            '"spark.driver.memory" in [spark.options]'
        ) from reason
    finally:
        if is_ours and is_alive(spark):
            spark.stop()


def begun(it: Opened) -> Flow:
    """A new flow over the inputs."""
    started = perf_counter()
    schemas = it.pipeline.checked.schemas
    inputs, versions = feeds.pinned(it.spark, it.pipeline.inputs)
    frames = {name: read_source(it.spark, source, schemas[name]) for name, source in inputs.items()}
    flow = begin_flow(it.pipeline.checked, it.spark, frames, it.store, it.settings, versions)
    rows = sum(flow.count(name) for name in frames)
    it.hearer.progress(
        f"version {flow.version}: {rows:,} rows read and materialised ({flow.tier.value}) in {since(started)}"
    )
    return flow


def resumed(it: Opened) -> Flow:
    """The flow that goes on from the state; UsageError where there is none."""
    started = perf_counter()
    if not it.store.last():
        raise UsageError(
            f"there is no state at {it.pipeline.state.path} yet\n"
            f"  hint: tidelog pipeline run {it.pipeline.file} makes it"
        )
    flow = resume_flow(it.pipeline.checked, it.spark, it.store, it.settings)
    it.hearer.progress(f"version {flow.version} taken up again ({flow.tier.value}) in {since(started)}")
    return flow


def sinks_of(it: Opened, flow: Flow) -> Sinks:
    """The outputs, with nothing in their way and the deltas of every version."""
    check_folders(it.pipeline.outputs.values())
    sinks = Sinks(flow, it.pipeline.outputs, f"tidelog:{it.pipeline.state.path}")
    sinks.catch_up()
    return sinks


def snapshots_of(pipeline: Pipeline) -> dict[str, ChangeSource]:
    """The changes that are known by comparing."""
    return {name: one for name, one in pipeline.changes.items() if one.kind is ChangeKind.SNAPSHOT}


def take_changes(it: Opened, flow: Flow, sinks: Sinks, compared: Mapping[str, ChangeSource]) -> None:
    """Takes what snapshots have new and what has arrived in streams, then writes the outputs."""
    changes = it.pipeline.changes
    if compared:
        inserted, retracted = snapshot_frames(it.spark, flow, compared)
        delta = flow.take_if_any(inserted, retracted, note="snapshots compared")
        if delta is not None:
            sinks.write_deltas(delta)
            it.hearer.changed(delta)
    followed = {name: one for name, one in changes.items() if one.kind is not ChangeKind.SNAPSHOT}
    if followed:
        Streams(it.spark, flow, sinks, followed, it.pipeline.follow, it.hearer.progress, it.hearer.changed).take_all()
    write_rows(sinks, it.hearer.progress)


def write_rows(sinks: Sinks, progress: Say) -> None:
    """Brings the outputs to the version of now."""
    started = perf_counter()
    written = sinks.write_rows()
    if written:
        progress(f"wrote {', '.join(written)} in {since(started)}")


def since(started: float) -> str:
    return f"{perf_counter() - started:.1f} s"
