"""`tidelog pipeline status`, `show` and `clean`: the versions of a state, their rows, and the end of old ones."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tidelog.errors import UsageError
from tidelog.pipeline.config import Pipeline
from tidelog.pipeline.feeds import FEED
from tidelog.pipeline.run import Hearer, opened
from tidelog.pipeline.state import VersionInfo, fingerprint
from tidelog.pipeline.state.files import open_files
from tidelog.pipeline.state.history import History, layout_of


def versions(pipeline: Pipeline) -> Sequence[VersionInfo]:
    """The versions that the state keeps, without starting Spark."""
    files = open_files(pipeline.state.path)
    layout = layout_of(files)
    return History(files, layout).versions() if layout is not None else ()


def status_lines(pipeline: Pipeline) -> list[str]:
    """What there is to say about the state: each version, what changed, the batches taken."""
    found = versions(pipeline)
    if not found:
        return [f"no state at {pipeline.state.path} yet: tidelog pipeline run {pipeline.file} makes it"]
    last = found[-1]
    is_same = last.fingerprint == fingerprint(pipeline.checked)
    lines = [
        f"state    {pipeline.state.path}",
        f"program  {pipeline.program}" + ("" if is_same else "  (has changed!)"),
    ]
    lines += ["", "version  committed            rows         note"]
    for one in found:
        rows = sum(one.tables.values())
        lines.append(f"{one.number:>7}  {one.committed_at:%Y-%m-%d %H:%M:%S}  {rows:>11,}  {one.note}")
    lines += ["", *version_lines(last)]
    return lines


def version_lines(version: VersionInfo) -> list[str]:
    """The tables of one version and the last batch of each stream."""
    width = max(map(len, version.tables), default=0)
    lines = [f"version {version.number}"]
    lines += [f"  {table.ljust(width)}  {rows:>12,}" for table, rows in sorted(version.tables.items())]
    return lines + [_batch_line(stream, number) for stream, number in version.batches.items()]


def _batch_line(stream: str, number: int) -> str:
    path = stream.removeprefix(FEED)
    return f"  {stream}: batch {number} taken" if path == stream else f"  {path}: read as of its version {number}"


def version_as_of(pipeline: Pipeline, number: int) -> VersionInfo:
    """One version; UsageError where it is not kept."""
    found = {one.number: one for one in versions(pipeline)}
    if number not in found:
        kept = f"{min(found)} to {max(found)}" if found else "none"
        raise UsageError(f"version {number} is not kept; there are: {kept}")
    return found[number]


def rows_as_of(pipeline: Pipeline, relation: str, number: int | None, hearer: Hearer) -> pa.Table:
    """The rows of a relation in the state, at a version or at the last one."""
    if number is not None:
        version_as_of(pipeline, number)
    with opened(pipeline, hearer) as it:
        return it.store.read_arrow(relation, number)


def clean(pipeline: Pipeline, keep: int, hearer: Hearer) -> Sequence[int]:
    """Forgets all but the last `keep` versions; the numbers forgotten."""
    with opened(pipeline, hearer) as it:
        return it.store.clean(keep)
