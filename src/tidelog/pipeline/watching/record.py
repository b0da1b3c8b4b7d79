"""What a watch notes of itself, once, where a pipeline has its state: later runs must be the same watch."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from tidelog.errors import StateError, UsageError
from tidelog.pipeline.state.files import explaining, open_files
from tidelog.pipeline.state.history import layout_of

FORMAT = "tidelog watch 1"
FILE = "watch.json"


@dataclass(frozen=True, slots=True)
class WatchRecord:
    """The program, the relations watched, the number of buckets, and the id of the query."""

    program: str
    watched: list[str]
    buckets: int
    query: str


def read_record(path: str) -> WatchRecord | None:
    """The record in a folder; None where there is none, an error where it cannot be read or the folder is not ours."""
    files = open_files(path)
    with explaining(files.address):
        if layout_of(files) is not None:
            raise UsageError(
                f"{path}: holds versions of answers, which a watch does not keep\n"
                "  hint: name another folder in [state], or leave [watch] out"
            )
        names = files.names("")
        if FILE not in names:
            if names:
                raise UsageError(f"{path}: holds files that are not of a state\n  hint: name another folder in [state]")
            return None
        try:
            found = json.loads(files.read(FILE))
            if found.pop("format") == FORMAT:
                return WatchRecord(**found)
        except (ValueError, TypeError, KeyError, AttributeError):
            pass
    raise StateError(f"{path}/{FILE}: is no record of a watch that this version can read")


def keep_record(path: str, record: WatchRecord) -> None:
    """Writes the record, or compares it with the one that is there; StateError where they differ."""
    known = read_record(path)
    if known is None:
        files = open_files(path)
        with explaining(files.address):
            files.publish(FILE, json.dumps({"format": FORMAT, **asdict(record)}, indent=1).encode())
        return
    anew = "remove the folder and the checkpoint to begin anew"
    if (known.program, known.watched) != (record.program, record.watched):
        raise StateError(f"{path}: another program is watched there, or other relations\n  hint: {anew}")
    if known.buckets != record.buckets:
        raise StateError(
            f"{path}: tuples are in {known.buckets} buckets, not in {record.buckets}\n"
            f"  hint: buckets = {known.buckets} in [watch], or {anew}"
        )
    if known.query != record.query:
        raise StateError(f"{path}: the tuples are under another checkpoint\n  hint: bring that one back, or {anew}")
