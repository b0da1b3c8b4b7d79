"""`tidelog pipeline follow`: takes changes as they arrive, until it is interrupted."""

from __future__ import annotations

from tidelog.errors import UsageError
from tidelog.pipeline.config import ChangeKind, Pipeline
from tidelog.pipeline.run import Hearer, begun, opened, resumed, sinks_of, write_rows
from tidelog.pipeline.streams import Streams


def follow(pipeline: Pipeline, hearer: Hearer) -> None:
    """Keeps the answers true while changes arrive; outputs are whole when it ends, in whatever way."""
    _check(pipeline)
    with opened(pipeline, hearer) as it:
        flow = resumed(it) if it.store.last() else begun(it)
        sinks = sinks_of(it, flow)
        write_rows(sinks, hearer.progress)
        streams = Streams(it.spark, flow, sinks, pipeline.changes, pipeline.follow, hearer.progress, hearer.changed)
        hearer.progress("following changes; Ctrl-C ends it")
        try:
            streams.follow()
        finally:
            write_rows(sinks, hearer.progress)


def _check(pipeline: Pipeline) -> None:
    snapshots = [name for name, change in pipeline.changes.items() if change.kind is ChangeKind.SNAPSHOT]
    if snapshots:
        raise UsageError(
            f"{pipeline.file}: changes.{snapshots[0]}: snapshots cannot be followed\n"
            "  hint: tidelog pipeline apply compares them whenever you call it"
        )
    if not pipeline.changes:
        raise UsageError(f"{pipeline.file}: there is no [changes] table to follow\n  hint: add one for a relation")
