"""The stateful step of Spark: each bucket has a log of its tuples in the state store, and an index in a worker.

The log is what counts. A worker that has not the index of a bucket, or an older one, makes it from the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tidelog.pipeline.watching.bucket import Bucket, Chunk, facts_left, to_bytes
from tidelog.pipeline.watching.script import Script

ARRIVING = "bucket int, relation string, sign int, rows binary"
"""A chunk on its way to its bucket; with the sign 0 it is no chunk but a row that cannot be taken, as JSON."""

FOUND = "relation string, sign int, rows binary"
"""Rows of a head with their signs; with the sign 0 a row that could not be taken."""

BAD = 0
_LOG = "id string, relation string, sign int, rows binary"
_MARK = "last string, weight long, at_least long"

_CHUNK_WEIGHT = 256
"""Bytes that a chunk counts for besides its rows."""

_SMALLEST_LOG = 1 << 20
"""Bytes of a log that is not worth bringing together."""


@dataclass(slots=True)
class _Live:
    """The index of a bucket, and the chunks of the log that it has taken."""

    bucket: Bucket
    taken: list[str] = field(default_factory=list)


_live: dict[tuple[str, int], _Live] = {}
"""The indexes that this process has, by stream and bucket."""


class BucketProcessor(StatefulProcessor):
    """Takes the chunks of a bucket, gives what appears and vanishes. `stream` is a name for one stream alone."""

    def __init__(self, script: Script, stream: str) -> None:
        self._script = script
        self._stream = stream

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._log = handle.getListState("log", _LOG)
        self._mark = handle.getValueState("mark", _MARK)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: ARG002, N802, N803
        self._append([Chunk(initialState.relation, initialState.sign, bytes(initialState.rows))])

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        arrived = [Chunk(row.relation, row.sign, bytes(row.rows)) for row in rows]
        yield from (Row(relation=chunk.relation, sign=BAD, rows=chunk.rows) for chunk in arrived if chunk.sign == BAD)
        chunks = sorted((chunk for chunk in arrived if chunk.sign != BAD), key=lambda chunk: chunk.sign)
        if not chunks:
            return
        place = (self._stream, key[0])
        live = self._up_to_date(place)
        found = list(live.bucket.take(chunks))
        live.taken += self._append(chunks)
        self._bring_together(live)
        _live[place] = live
        yield from (Row(relation=head, sign=1, rows=to_bytes(table)) for head, table in found)

    def close(self) -> None:
        """Nothing is left open."""

    def _up_to_date(self, place: tuple[str, int]) -> _Live:
        """The index of a bucket with everything that is in the log. Nobody else finds it until it is put back: where
        something fails in between, it has tuples that the log has not."""
        live = _live.pop(place, None)
        mark = self._mark.get()
        last = [mark[0]] if mark else []
        if live is None or live.taken[-1:] != last:
            log = list(self._log.get()) if mark else []
            ids = [entry[0] for entry in log]
            if live is None or live.taken != ids[: len(live.taken)]:
                live = _Live(Bucket(self._script, place[1]))
            for name, relation, sign, rows in log[len(live.taken) :]:
                list(live.bucket.take([Chunk(relation, sign, bytes(rows))]))
                live.taken.append(name)
        return live

    def _append(self, chunks: Sequence[Chunk]) -> list[str]:
        """Writes chunks to the log; their ids."""
        ids = [uuid4().hex for _ in chunks]
        self._log.appendList(_entries(ids, chunks))
        _, weight, at_least = self._mark.get() or ("", 0, 0)
        self._mark.update((ids[-1], weight + _weight(chunks), at_least))
        return ids

    def _bring_together(self, live: _Live) -> None:
        """Makes the log short again once it has twice the weight that it had when it was short."""
        mark = self._mark.get()
        assert mark is not None
        _, weight, at_least = mark
        if weight < 2 * at_least + _SMALLEST_LOG:
            return
        log = [Chunk(relation, sign, bytes(rows)) for _, relation, sign, rows in self._log.get()]
        left = facts_left(log)
        live.taken = [uuid4().hex for _ in left]
        if left:
            self._log.put(_entries(live.taken, left))
            self._mark.update((live.taken[-1], _weight(left), _weight(left)))
        else:
            self._log.clear()
            self._mark.clear()


def _entries(ids: Sequence[str], chunks: Sequence[Chunk]) -> list[tuple[str, str, int, bytes]]:
    return [(name, each.relation, each.sign, each.rows) for name, each in zip(ids, chunks, strict=True)]


def _weight(chunks: Sequence[Chunk]) -> int:
    return sum(len(chunk.rows) + _CHUNK_WEIGHT for chunk in chunks)
