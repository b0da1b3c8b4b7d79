"""What generated text does with a row that has passed everything: it is pushed to the head, or with others like it.

Where loops behind the place at which the first column of the head is known give ids for the second, these are gathered
as bits first, and pushed when the loops have ended: the set of the head is asked once for each word, not for each id
that was derived. Likewise, where what is pushed is known before loops that give ids for the first column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tidelog.codegen.division import Division
from tidelog.codegen.loops import Left, Loops, Pushed, PushedBlock
from tidelog.codegen.operands import Gathered, Sink
from tidelog.codegen.terms import Terms
from tidelog.codegen.writer import Writer
from tidelog.language.syntax_tree import Constant, Term, Variable
from tidelog.plan.walk import names_in


class Head:
    """Writes the end of a rule. `pushing` begins the names of what pushes."""

    def __init__(
        self, sink: Sink, terms_of_head: Sequence[Term], writer: Writer, terms: Terms, loops: Loops, pushing: str,
        division: Division,
    ) -> None:  # fmt: skip
        self._sink = sink
        self._head = terms_of_head
        self._writer = writer
        self._terms = terms
        self._loops = loops
        self._pushing = pushing
        self._division = division

    def emit(self, pushed: Pushed | PushedBlock | None) -> None:
        """Writes what happens to a row that has passed everything."""
        self._writer.line(f"# {self._sink.relation}({', '.join(map(_term_text, self._head))})")
        place, first = self._loops.place_to_gather(), self._loops.first_ids()
        if pushed is not None and place is not None:
            self._emit_gathered(pushed, place)
            return
        if isinstance(pushed, Pushed) and first is not None:
            self._emit_by_first(pushed, *first)
            return
        self._loops.open(frozenset(name for term in self._head for name in names_in(term)))
        match pushed:
            case Pushed():
                self._emit_words(pushed)
                return
            case PushedBlock(loop=loop):
                loop()
        texts = [self._terms.identity(term) for term in self._head]
        sink = self._writer.operand(self._sink)
        if self._sink.width == 1:
            self._stop_unless(self._writer.call(f"{self._pushing}_id", *(texts or ["0"]), *sink))
        elif self._sink.width == 2:
            self._division.take(texts[0])
            self._stop_unless(self._writer.call(f"{self._pushing}_pair", *texts, *sink, *self._division.parameters))
        else:
            waiting, counters = sink[2], sink[-1]
            settle = self._writer.call("settle_rows", *sink)
            with self._writer.block(f"if {counters}[WAITING] == {waiting}.shape[0]:"):
                self._stop_unless(settle)
            for column, text in enumerate(texts):
                self._writer.line(f"{waiting}[{counters}[WAITING], {column}] = {text}")
            self._writer.line(f"{counters}[WAITING] += 1")
            self._writer.line(f"{counters}[DERIVED] += 1")

    def _emit_gathered(self, pushed: Pushed | PushedBlock, place: Left) -> None:
        """Writes that ids are gathered where they are found, and pushed where the first column of the head is known."""
        size, ids = self._gather(pushed, place)
        _, words, bits = self._writer.operand(_room_for(pushed))
        self._loops.open(names_in(self._head[0]))
        first = self._terms.identity(self._head[0])
        self._division.take(first)
        row = (first, words, bits, size, ids, *self._writer.operand(self._sink))
        self._stop_unless(self._writer.call(f"{self._pushing}_gathered", *row, *self._division.parameters))

    def _emit_by_first(self, pushed: Pushed, first: Pushed | PushedBlock, place: Left) -> None:
        """Writes that first ids are gathered where they are found, and each gets what is pushed where that is known."""
        size, _ = self._gather(first, place)
        _, words, bits = self._writer.operand(_room_for(first))
        self._loops.over_ids(words, bits, ("0", size), *names_in(self._head[0]))
        self._emit_words(pushed)

    def _gather(self, found: Pushed | PushedBlock, place: Left) -> tuple[str, str]:
        """Writes that ids are gathered where they are found, and goes on at `place` if there are some; the names of
        how many words and ids they are."""
        cells, words, bits = self._writer.operand(_room_for(found))
        size, ids = self._writer.fresh("size"), self._writer.fresh("ids")
        match found:
            case Pushed(from_words, key):
                starts, counts, _, *some = self._writer.operand(from_words)
                gathered = self._writer.call(
                    "gather_words", *some, f"{starts}[{key}]", f"{counts}[{key}]", cells, words, size
                )
            case PushedBlock(rows=rows, bounds=bounds):
                gathered = self._writer.call("gather_block", rows, *bounds, cells, words, size)
            case _:
                assert_never(found)
        self._writer.line(f"{size} = {gathered}")
        self._writer.insert(f"{size} = 0", place.place)
        self._writer.go_back_to(place.place)
        self._writer.open(f"if {size} > 0:")
        self._writer.line(f"{ids} = {self._writer.call('take_gathered', cells, words, bits, size)}")
        return size, ids

    def _emit_words(self, pushed: Pushed) -> None:
        first = self._terms.identity(self._head[0])
        self._division.take(first)
        entries, cells, width, out, _, counters = self._writer.operand(self._sink)
        starts, counts, sizes, words, bits = self._writer.operand(pushed.words)
        row = (first, words, bits, f"{starts}[{pushed.key}]", f"{counts}[{pushed.key}]")
        sink = (entries, cells, width, out, counters)
        self._stop_unless(self._writer.call(f"{self._pushing}_words", *row, *sink, *self._division.parameters))
        self._writer.line(f"{counters}[DERIVED] += {sizes}[{pushed.key}]")

    def _stop_unless(self, call: str) -> None:
        self._writer.line(f"if not {call}:")
        self._writer.line("    return row")


def _room_for(pushed: Pushed | PushedBlock) -> Gathered:
    """Where these ids are gathered."""
    match pushed:
        case Pushed(words):
            return Gathered(words.relation, 1 - words.key)
        case PushedBlock(relation, column):
            return Gathered(relation, column)
        case _:
            assert_never(pushed)


def _term_text(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Constant(value):
            return repr(value)
        case _:
            return "…"
