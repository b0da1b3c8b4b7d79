"""From the plan of a rule to source text: one loop inside the other, each row pushed to the head once it is found.

A row of the head is looked for where it is derived, so that nothing is stored in between. Where the second column of a
head of pairs is needed for nothing else, all its ids are pushed at once, as words of bits: those of a key of the last
join, or those that came in the delta with the key of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import partial

from tidelog.codegen.atoms import Atoms, Surroundings, new_columns, repeats
from tidelog.codegen.operands import (
    Blocks,
    ChangedKeys,
    NotPushed,
    PushedRule,
    RowsOf,
    Sink,
    Words,
)
from tidelog.codegen.terms import Terms, Unsayable
from tidelog.codegen.writer import Writer, parameters
from tidelog.language.syntax_tree import Comparison, Constant, Term, Variable
from tidelog.plan.nodes import AGE, Antijoin, Extend, GroupJoin, Project, Range, RulePlan, Scan, Select, Values, Version
from tidelog.plan.parts import Part, names_of, parts_of
from tidelog.plan.walk import names_in


class Sharing(Enum):
    """Whether one thread runs the code, or several at a time, which share the set of the head. The value begins the
    names of what pushes in that way."""

    ALONE = "push"
    TOGETHER = "share"


def push_rule(rule: RulePlan, surroundings: Surroundings, sharing: Sharing = Sharing.ALONE) -> PushedRule | NotPushed:
    """The code of a rule, or why there is none."""
    if _is_copy(rule):
        return NotPushed("no code for a copy of one relation, which is one step already", needs_none=True)
    try:
        return _Generator(rule, surroundings, sharing).generate()
    except Unsayable as reason:
        return NotPushed(f"no code for {reason}")


@dataclass(frozen=True, slots=True)
class _Pushed:
    """The ids that are pushed as words: those of `words` at the key that the text `key` stands for."""

    words: Words
    key: str


class _Generator:
    def __init__(self, rule: RulePlan, surroundings: Surroundings, sharing: Sharing) -> None:
        if not isinstance(rule.node, Project):
            raise Unsayable("rows of the text")
        self._rule = rule
        self._head = rule.node.columns
        self._parts = parts_of(rule.node.input)
        self._surroundings = surroundings
        self._sharing = sharing
        self._pushing = sharing.value
        self._writer = Writer()
        self._terms = Terms(self._writer, rule.kinds)
        self._sink = Sink(rule.head, surroundings.width(rule.head))
        self._atoms = Atoms(self._writer, surroundings, rule.head)
        self._pushed: _Pushed | None = None
        self._waiting: list[tuple[frozenset[str], Callable[[], None]]] = []

    def generate(self) -> PushedRule:
        if not self._surroundings.is_stored(self._rule.head):
            raise Unsayable("a head that is kept as a closure")
        start = self._start()
        keeps_first = self._takes_its_part()
        for number, part in enumerate(self._parts[1:], start=1):
            self._open_loops(names_of(part))
            self._part(part, self._parts[number + 1 :])
        self._open_loops(frozenset(name for term in self._head for name in names_in(term)))
        self._emit()
        return self._finished(start, keeps_first=keeps_first)

    def _takes_its_part(self) -> bool:
        """Where threads share the work and the rows to start from have the first id of a pair of the head: goes on only
        for ids that belong to the thread."""
        first = self._head[0] if self._head else None
        if self._sharing is Sharing.ALONE or self._sink.width != 2 or not isinstance(first, Variable):
            return False
        if first.name not in self._atoms.bound:
            return False
        self._pushing = "own"
        self._writer.open(f"if {self._writer.call('is_of_part', self._writer.variable(first.name), 'part', 'parts')}:")
        return True

    def _finished(self, start: RowsOf | ChangedKeys, *, keeps_first: bool) -> PushedRule:
        writer = self._writer
        names = [name for operand, stem in writer.operands.items() for name in parameters(operand, stem)]
        names += ["begin", "end", *(("part", "parts") if keeps_first else ())]
        heading = [f"def push({', '.join(names)}):", f"    {_as_text(self._rule)!r}"]
        source = "\n".join([*heading, *writer.lines, "    return end", ""])
        return PushedRule(source, tuple(writer.operands), start, keeps_first)

    def _start(self) -> RowsOf | ChangedKeys:
        """Writes the outermost loop; what it runs over."""
        if not self._parts or not isinstance(self._parts[0], Scan):
            raise Unsayable("a body that does not begin with an atom")
        scan = self._parts[0]
        self._check_scan(scan)
        grouped = self._grouping(scan)
        if grouped is not None:
            return grouped
        start = RowsOf(scan.relation, scan.version)
        (rows,) = self._writer.operand(start)
        self._atoms.note(scan)
        self._writer.open("for row in range(begin, end):")
        places = {number: f"{rows}[row, {number}]" for number in range(len(scan.columns))}
        self._atoms.agree(scan, places)
        self._atoms.bind(scan, places, None)
        self._look_ahead(scan, rows)
        return start

    def _look_ahead(self, scan: Scan, rows: str) -> None:
        """Has what the rows to come will ask for brought near, if that are the blocks of one column."""
        following = self._parts[1] if len(self._parts) > 1 else None
        if not isinstance(following, Scan) or not self._surroundings.is_stored(following.relation):
            return
        key, _ = self._atoms.key(following)
        new = set(new_columns(following, key))
        if len(key) != 1 or self._is_read_as_words(following, key[0]):
            return
        if following.columns[key[0]] in scan.columns and not new <= {self._last_of_head()}:
            starts, _, counts, payload = self._writer.operand(Blocks(following.relation, key))
            column = scan.columns.index(following.columns[key[0]])
            self._writer.line(self._writer.call("look_ahead", rows, str(column), "row", "end", starts, counts, payload))

    def _grouping(self, scan: Scan) -> ChangedKeys | None:
        """Where what follows first asks for one column of a delta of pairs only: the loop over the values of that
        column. The ids of the other column come later, or are pushed at once in the end."""
        names = scan.columns
        if scan.version is not Version.DELTA or len(names) != 2 or self._may_fail() or len(self._parts) < 2:
            return None
        asked = [number for number in (0, 1) if names[number] in names_of(self._parts[1])]
        if any(isinstance(name, Constant) for name in names) or names[0] == names[1] or len(asked) != 1:
            return None
        key, other = asked[0], names[1 - asked[0]]
        is_pushed = other is not None and other == self._last_of_head() and not self._is_used(other, self._parts[1:])
        if not is_pushed and not self._is_selective(scan, key):
            return None
        start = ChangedKeys(scan.relation, key)
        (keys,) = self._writer.operand(start)
        self._atoms.note(scan)
        self._writer.open("for row in range(begin, end):")
        variable = self._writer.variable(str(names[key]))
        self._writer.line(f"{variable} = {keys}[row]")
        self._atoms.bound.add(str(names[key]))
        words = Words(scan.relation, key, Version.DELTA)
        if is_pushed:
            self._atoms.bound.add(str(other))
            self._pushed = _Pushed(words, variable)
        elif other is not None and self._is_needed(str(other), self._parts[1:]):
            self._open_later({str(other)}, partial(self._loop_over_ids, _Pushed(words, variable), str(other)))
        return start

    def _is_selective(self, scan: Scan, key: int) -> bool:
        """Whether what follows has so few of the values of a column that looking for each value once pays, if the
        words are there anyway. Else rows are read as they came: rows of one head id lie side by side, and so does what
        they are pushed to."""
        following = self._parts[1]
        if not isinstance(following, Scan) or not self._has_words(scan.relation, key):
            return False
        column = following.columns.index(scan.columns[key])
        return self._surroundings.is_rarer((following.relation, column), (scan.relation, key))

    def _open_later(self, names: Set[str], loop: Callable[[], None]) -> None:
        """Leaves a loop that binds `names` to where one of them is asked for: what does not ask stands outside."""
        self._waiting.append((frozenset(names), loop))

    def _open_loops(self, asked: frozenset[str]) -> None:
        """Writes the loops that bind what is asked for."""
        now = [(names, loop) for names, loop in self._waiting if names & asked]
        self._waiting = [(names, loop) for names, loop in self._waiting if not names & asked]
        for _, loop in now:
            loop()

    def _loop_over_ids(self, pushed: _Pushed, name: str) -> None:
        """Writes the loop that binds `name` to each id of some words."""
        starts, counts, _, words, bits = self._writer.operand(pushed.words)
        at, left = self._writer.fresh("at"), self._writer.fresh("left")
        begin = f"{starts}[{pushed.key}]"
        self._writer.open(f"for {at} in range({begin}, {begin} + {counts}[{pushed.key}]):")
        self._writer.line(f"{left} = {bits}[{at}]")
        self._writer.open(f"while {left}:")
        self._writer.line(f"{self._writer.variable(name)} = ({words}[{at}] << 6) + lowest_bit({left})")
        self._writer.line(f"{left} &= {left} - 1")
        self._atoms.bound.add(name)

    def _may_fail(self) -> bool:
        """Whether a row may have no value: then rows are taken one at a time."""
        return any(isinstance(part, Extend | Select) and not _is_plain(part) for part in self._parts) or not all(
            isinstance(term, Variable | Constant) for term in self._head
        )

    def _last_of_head(self) -> str | None:
        """The variable in the second column of a head of pairs, if the first is not the same."""
        if self._sink.width != 2 or len(self._head) != 2:
            return None
        first, second = self._head
        if isinstance(second, Variable) and second.name not in names_in(first):
            return second.name
        return None

    def _is_used(self, name: str, parts: Sequence[Part]) -> bool:
        return any(name in names_of(part) for part in parts)

    def _part(self, part: Part, rest: Sequence[Part]) -> None:
        match part:
            case Scan():
                self._check_scan(part)
                self._atoms.note(part)
                self._lookup(part, rest)
            case Antijoin(right=Scan() as scan):
                self._check_scan(scan)
                self._atoms.note(scan, "not ")
                self._writer.open(f"if not ({self._atoms.presence(scan)}):")
            case Select(_, condition):
                self._writer.open(f"if {self._terms.condition(condition)}:")
            case Extend(_, name, value):
                identity = self._terms.identity(value)
                if name in self._atoms.bound:
                    self._writer.open(f"if {self._writer.variable(name)} == {identity}:")
                else:
                    self._writer.line(f"{self._writer.variable(name)} = {identity}")
                    self._atoms.bound.add(name)
            case GroupJoin():
                raise Unsayable("an aggregate")
            case Range():
                raise Unsayable("a range")
            case _:
                raise Unsayable("a body with alternatives")

    def _check_scan(self, scan: Scan) -> None:
        if scan.version in (Version.OLDER, Version.YOUNGER) or AGE in scan.columns:
            raise Unsayable("a question about ages")
        if not self._surroundings.is_stored(scan.relation):
            raise Unsayable(f"'{scan.relation}', which is kept as a closure")

    def _lookup(self, scan: Scan, rest: Sequence[Part]) -> None:
        key, texts = self._atoms.key(scan)
        new = new_columns(scan, key)
        needed = [name for name in new if self._is_needed(name, rest) or repeats(scan, name)]
        if not needed:
            self._writer.open(f"if {self._atoms.presence(scan)}:")
        elif self._can_push(scan, key, needed, rest):
            self._push_later(scan, key[0], texts[0], needed[0])
        elif not key:
            (rows,) = self._writer.operand(RowsOf(scan.relation, scan.version))
            self._loop_later(scan, ("0", f"{rows}.shape[0]"), rows, range(len(scan.columns)), needed)
        elif len(key) == 1 and len(needed) == 1 and self._is_read_as_words(scan, key[0]):
            pushed = self._words_of(scan, key[0], texts[0])
            self._open_later({needed[0]}, partial(self._loop_over_ids, pushed, needed[0]))
        else:
            bounds = self._atoms.block(scan, key, texts)
            payload = self._writer.operand(Blocks(scan.relation, key))[3]
            self._loop_later(scan, bounds, payload, [n for n in range(len(scan.columns)) if n not in key], needed)

    def _loop_later(
        self, scan: Scan, bounds: tuple[str, str], rows: str, columns: Sequence[int], needed: list[str]
    ) -> None:
        """Goes on only if there are rows within `bounds`, whose columns are those `columns`; loops over them later."""
        low, high = bounds

        def loop() -> None:
            at = self._writer.fresh("at")
            self._writer.open(f"for {at} in range({low}, {high}):")
            self._atoms.bind(scan, {column: f"{rows}[{at}, {place}]" for place, column in enumerate(columns)}, needed)

        self._writer.open(f"if {low} < {high}:")
        if any(repeats(scan, name) for name in needed):
            loop()  # a row in which a name has two values is none, whether somebody asks for the name or not
        else:
            self._open_later(set(needed), loop)

    def _is_needed(self, name: str, rest: Sequence[Part]) -> bool:
        return self._is_used(name, rest) or any(name in names_in(term) for term in self._head)

    def _can_push(self, scan: Scan, key: tuple[int, ...], needed: list[str], rest: Sequence[Part]) -> bool:
        """Whether all ids that a scan gives can be pushed at once in the end."""
        return (
            self._pushed is None
            and needed == [self._last_of_head()]
            and len(scan.columns) == 2
            and len(key) == 1
            and not repeats(scan, needed[0])
            and not self._is_used(needed[0], rest)
            and scan.version in (Version.FULL, Version.OLD, Version.DELTA)
            and (self._is_recursive(scan.relation) or self._surroundings.has_long_rows(scan.relation, key[0]))
        )

    def _push_later(self, scan: Scan, key: int, text: str, name: str) -> None:
        """Leaves the loop over the ids of a key to the end; goes on only if there are some.

        What is OLD is not kept as words: all ids are pushed instead, some of which another version of the rule derives
        as well.
        """
        self._pushed = self._words_of(scan, key, text)
        self._atoms.bound.add(name)

    def _words_of(self, scan: Scan, key: int, text: str) -> _Pushed:
        """The words of a key; goes on only if there are some."""
        words = Words(scan.relation, key, Version.DELTA if scan.version is Version.DELTA else Version.FULL)
        _, counts, sizes, _, _ = self._writer.operand(words)
        self._writer.open(f"if {text} < {counts}.size and {sizes}[{text}] > 0:")
        return _Pushed(words, text)

    def _is_read_as_words(self, scan: Scan, key: int) -> bool:
        """Whether the ids of a key are read off words that are there anyway."""
        return len(scan.columns) == 2 and self._has_words(scan.relation, key)

    def _has_words(self, relation: str, key: int) -> bool:
        """Whether some atom of the rule pushes the ids of a key of this relation as words."""
        last = self._last_of_head()
        return self._is_recursive(relation) and any(
            isinstance(part, Scan) and part.relation == relation and last is not None and part.columns[1 - key] == last
            for part in self._parts
        )

    def _is_recursive(self, relation: str) -> bool:
        """Whether the rows of a relation of pairs are known to grow while the rule is in use."""
        return self._surroundings.width(relation) == 2 and (
            relation == self._rule.head
            or any(
                isinstance(part, Scan) and part.relation == relation and part.version in (Version.OLD, Version.DELTA)
                for part in self._parts
            )
        )

    def _emit(self) -> None:
        """Writes what happens to a row that has passed everything."""
        self._writer.line(f"# {self._rule.head}({', '.join(map(_term_text, self._head))})")
        if self._pushed is not None:
            self._emit_words(self._pushed)
            return
        texts = [self._terms.identity(term) for term in self._head]
        sink = self._writer.operand(self._sink)
        if self._sink.width == 1:
            self._stop_unless(self._writer.call(f"{self._pushing}_id", *(texts or ["0"]), *sink))
        elif self._sink.width == 2:
            self._stop_unless(self._writer.call(f"{self._pushing}_pair", *texts, *sink, *self._parts_of_ids()))
        else:
            waiting, counters = sink[2], sink[-1]
            settle = self._writer.call("settle_rows", *sink)
            with self._writer.block(f"if {counters}[WAITING] == {waiting}.shape[0]:"):
                self._stop_unless(settle)
            for column, text in enumerate(texts):
                self._writer.line(f"{waiting}[{counters}[WAITING], {column}] = {text}")
            self._writer.line(f"{counters}[WAITING] += 1")
            self._writer.line(f"{counters}[DERIVED] += 1")

    def _parts_of_ids(self) -> tuple[str, ...]:
        """The last argument of what pushes pairs whose first id belongs to one thread."""
        return ("parts",) if self._pushing == "own" else ()

    def _emit_words(self, pushed: _Pushed) -> None:
        first = self._terms.identity(self._head[0])
        entries, cells, width, out, _, counters = self._writer.operand(self._sink)
        starts, counts, sizes, words, bits = self._writer.operand(pushed.words)
        row = (first, words, bits, f"{starts}[{pushed.key}]", f"{counts}[{pushed.key}]")
        sink = (entries, cells, width, out, counters)
        self._stop_unless(self._writer.call(f"{self._pushing}_words", *row, *sink, *self._parts_of_ids()))
        self._writer.line(f"{counters}[DERIVED] += {sizes}[{pushed.key}]")

    def _stop_unless(self, call: str) -> None:
        self._writer.line(f"if not {call}:")
        self._writer.line("    return row")


def _is_copy(rule: RulePlan) -> bool:
    """Whether a rule reads one relation and computes nothing."""
    node = rule.node
    if not isinstance(node, Project):
        return False
    parts = parts_of(node.input)
    is_read = len(parts) == 1 and isinstance(parts[0], Scan | Values)
    return is_read and all(isinstance(term, Variable) for term in node.columns)


def _is_plain(part: Extend | Select) -> bool:
    """Whether a part has a value for every row."""
    match part:
        case Extend(value=value):
            return isinstance(value, Variable | Constant)
        case Select(condition=Comparison(_, left, right)):
            return isinstance(left, Variable | Constant) and isinstance(right, Variable | Constant)
        case _:
            return False


def _as_text(rule: RulePlan) -> str:
    """The rule and where it stands. It may hold anything, so that it must be quoted where it stands in code."""
    return f"{' '.join(rule.text.split())}  ({rule.span.file.rsplit('/', 1)[-1]}:{rule.span.line})"


def _term_text(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Constant(value):
            return repr(value)
        case _:
            return "…"
