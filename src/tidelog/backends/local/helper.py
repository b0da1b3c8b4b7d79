"""A thread that does what it is handed.

A round hands over work twice, and there may be thousands of rounds: so there is as little as possible between the two
threads. An executor takes some thirty microseconds more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar
from weakref import finalize

Given = TypeVar("Given")
Gained = TypeVar("Gained")


@dataclass(frozen=True, slots=True)
class Ended(Generic[Gained]):
    """What came of some work, or the error that it ended with."""

    gained: Gained | None
    error: BaseException | None = None

    def result(self) -> Gained:
        """What came of it; raises its error."""
        if self.error is not None:
            raise self.error
        return self.gained  # type: ignore[return-value]  # only work that ended with an error gained nothing


Handed = tuple[Callable[[Any], Any], Any, SimpleQueue[Ended[Any]]]


class Helper:
    """One thread, which ends when nobody can hand it anything any more."""

    def __init__(self) -> None:
        self._inbox: SimpleQueue[Handed | None] = SimpleQueue()
        Thread(target=_serve, args=(self._inbox,), name="tidelog", daemon=True).start()
        finalize(self, self._inbox.put, None)

    def start(self, work: Callable[[Given], Gained], given: Given) -> SimpleQueue[Ended[Gained]]:
        """Has `work` done for what is given, after all that was handed over before; where its end is reported."""
        reports: SimpleQueue[Ended[Gained]] = SimpleQueue()
        self._inbox.put((work, given, reports))
        return reports


def _serve(inbox: SimpleQueue[Handed | None]) -> None:
    while (handed := inbox.get()) is not None:
        _do(*handed)
        del handed  # while it waits it keeps nothing alive, itself least of all


def _do(work: Callable[[Given], Gained], given: Given, reports: SimpleQueue[Ended[Gained]]) -> None:
    try:
        reports.put(Ended(work(given)))
    except BaseException as error:  # whoever handed it over raises it
        reports.put(Ended(None, error))
