"""`tidelog pipeline` in a process that is killed at a point: `driver_to_kill.py ACTION FILE [POINT CALL VICTIM]`.

VICTIM is `python`, `java` (Spark, which Python started) or `both`. Where the point is not reached, nothing is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from processes import children_of, is_java

from tidelog.cli.main import main
from tidelog.pipeline import sinks, streams
from tidelog.pipeline.engine import Engine
from tidelog.pipeline.flow import Flow
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.state import files
from tidelog.pipeline.state.attempt import Attempt
from tidelog.pipeline.streams import Streams

BEFORE: dict[str, tuple[Any, str]] = {
    "the batch is read": (streams, "read_batch"),
    "the change is taken": (Flow, "take"),
    "the manifest gets its name": (files, "_link"),
    "the delta gets its name": (sinks, "_swap"),
    "the mark of the deltas is set": (sinks, "set_mark"),
    "the rows are written": (Sinks, "_write"),
    "the outputs catch up": (Sinks, "catch_up"),
}
AFTER: dict[str, tuple[Any, str]] = {
    "the state is taken up again": (Flow, "_go_on"),
    "the change is in the driver": (Engine, "take"),
    "one part is written": (files, "_write_parquet"),
    "all parts are written": (Attempt, "finish"),
    "the manifest has its name": (files, "_link"),
    "the version is committed": (Flow, "take"),
    "the delta has its name": (sinks, "_swap"),
    "the mark of the deltas is there": (sinks, "set_mark"),
    "the deltas are written": (Sinks, "write_deltas"),
    "the batch is taken": (Streams, "_take_batch"),
    "the rows are there": (Sinks, "_write"),
    "the outputs have caught up": (Sinks, "catch_up"),
}
OLD_ROWS_ARE_AWAY = "the old rows are moved away"
POINTS = [*BEFORE, *AFTER, OLD_ROWS_ARE_AWAY]


def kill_at(point: str, call: int, victim: str) -> None:
    """Arranges for `victim` to be killed when `point` is passed for the `call`th time."""
    passed = 0

    def here() -> None:
        nonlocal passed
        passed += 1
        if passed == call:
            print(f"killing {victim}: {point}", file=sys.stderr, flush=True)
            kill(victim)

    if point == OLD_ROWS_ARE_AWAY:
        rename = os.rename

        def renamed(source: Any, target: Any) -> None:
            rename(source, target)
            if str(target).endswith(".old"):
                here()

        os.rename = renamed  # type: ignore[assignment]
        return
    owner, name = (BEFORE | AFTER)[point]
    setattr(owner, name, watched(getattr(owner, name), here, is_before=point in BEFORE))


def watched(function: Callable[..., Any], here: Callable[[], None], *, is_before: bool) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        if is_before:
            here()
        answer = function(*arguments, **options)
        if not is_before:
            here()
        return answer

    return call


def kill(victim: str) -> None:
    if victim != "python":
        for child in filter(is_java, children_of(os.getpid())):
            os.kill(child, signal.SIGKILL)
    if victim != "java":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    action, file, *where = sys.argv[1:]
    if where:
        kill_at(where[0], int(where[1]), where[2])
    sys.exit(main(["pipeline", action, file]))
