"""Loops of generated text that are left to where what they bind is asked for, and what is pushed in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tidelog.codegen.division import Division
from tidelog.codegen.operands import Words
from tidelog.codegen.writer import Place, Writer


@dataclass(frozen=True, slots=True)
class Pushed:
    """The ids that are pushed as words: those of `words` at the key that the text `key` stands for."""

    words: Words
    key: str


@dataclass(frozen=True, slots=True)
class PushedBlock:
    """The ids that are pushed: those of the only column of `rows`, which is that `column` of a relation, within
    `bounds`; `loop` writes a loop over them."""

    relation: str
    column: int
    rows: str
    bounds: tuple[str, str]
    loop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Left:
    """A place in the text, and how many loops were opened before it."""

    place: Place
    opened: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A loop that is not written yet, the names that it binds, and the ids that it runs over where it binds one."""

    names: frozenset[str]
    loop: Callable[[], None]
    ids: Pushed | PushedBlock | None


class Loops:
    """The loops that wait. `bound` are names that have a value by now, `wanted` those of the head's first column; None
    where nothing can be gathered: code that stops at a row without a value would leave behind what it has. `division`
    leaves out ids of that column."""

    def __init__(self, writer: Writer, bound: set[str], wanted: frozenset[str] | None, division: Division) -> None:
        self._writer = writer
        self._bound = bound
        self._wanted = wanted
        self._division = division
        self._waiting: list[Waiting] = []
        self._start: Left | None = None
        self._opened = 0
        self._place: Left | None = None

    def begin(self) -> None:
        """What is pushed is known from here on."""
        self._start = Left(self._writer.place, self._opened)

    def leave(self, names: set[str], loop: Callable[[], None], ids: Pushed | PushedBlock | None = None) -> None:
        """Leaves a loop that binds `names` to where one of them is asked for: what does not ask stands outside."""
        self._waiting.append(Waiting(frozenset(names), loop, ids))

    def leave_ids(self, ids: Pushed, name: str) -> None:
        """Leaves the loop that binds `name` to each id of a key."""
        starts, counts, _, words, bits = self._writer.operand(ids.words)
        begin = f"{starts}[{ids.key}]"
        bounds = (begin, f"{begin} + {counts}[{ids.key}]")
        self.leave({name}, partial(self.over_ids, words, bits, bounds, name), ids)

    def over_ids(self, words: str, bits: str, bounds: tuple[str, str], name: str) -> None:
        """Writes the loop that binds `name` to each id of the words within `bounds`."""
        at, left = self._writer.fresh("at"), self._writer.fresh("left")
        self._writer.open(f"for {at} in range({', '.join(bounds)}):")
        self._writer.line(f"{left} = {self._division.own_bits(name, f'{words}[{at}]', f'{bits}[{at}]')}")
        self._writer.open(f"while {left}:")
        self._writer.line(f"{self._writer.variable(name)} = ({words}[{at}] << 6) + lowest_bit({left})")
        self._writer.line(f"{left} &= {left} - 1")
        self._bound.add(name)

    def open(self, asked: frozenset[str]) -> None:
        """Writes the loops that bind what is asked for."""
        now = [waiting for waiting in self._waiting if waiting.names & asked]
        self._note_place(now)
        self._waiting = [waiting for waiting in self._waiting if not waiting.names & asked]
        for waiting in now:
            waiting.loop()
        self._opened += len(now)

    def _note_place(self, now: list[Waiting]) -> None:
        """Notes where the first column of the head is known or waits, before these loops are written."""
        if self._wanted is None:
            return
        if any(waiting.names & self._wanted for waiting in now):
            self._place = None
        elif self._place is None and self._wanted <= self._bound.union(*(each.names for each in self._waiting)):
            self._place = Left(self._writer.place, self._opened)

    def place_to_gather(self) -> Left | None:
        """Where the first column of the head is known, or waits to be, and what is pushed is not: all that is found
        in loops behind that place is for the same heads. None if there are no such loops."""
        return self._place if self._place is not None and self._opened > self._place.opened else None

    def first_ids(self) -> tuple[Pushed | PushedBlock, Left] | None:
        """Ids for the first column of the head, where these are all that waits, and the place where what is pushed
        became known: in loops behind it the same ids come again. None if there are no such loops."""
        if self._start is None or self._opened == self._start.opened:
            return None
        if [waiting.names for waiting in self._waiting] != [self._wanted]:
            return None
        ids = self._waiting[0].ids
        return None if ids is None else (ids, self._start)
