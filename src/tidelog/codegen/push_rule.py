"""From the plan of a rule to source text: one loop inside the other, each row pushed to the head once it is found.

A row of the head is looked for where it is derived, so that nothing is stored in between. Where the second column of a
head of pairs is needed for nothing else, all its ids are pushed at once, as words of bits: those of a key of the last
join, or those that came in the delta with the key of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeGuard

from tidelog.codegen.ages import Ages
from tidelog.codegen.atoms import Atoms, Surroundings, new_columns, repeats
from tidelog.codegen.division import Division
from tidelog.codegen.head import Head
from tidelog.codegen.loops import Loops, Pushed, PushedBlock
from tidelog.codegen.operands import (
    Blocks,
    ChangedKeys,
    NotPushed,
    NumberedRows,
    PushedRule,
    RowsOf,
    RunsOf,
    Sink,
    Words,
)
from tidelog.codegen.shape import Shape
from tidelog.codegen.terms import Terms, Unsayable
from tidelog.codegen.writer import Writer, parameters
from tidelog.language.syntax_tree import Constant, Variable
from tidelog.plan.nodes import AGE, Antijoin, Extend, GroupJoin, Project, Range, RulePlan, Scan, Select, Values, Version
from tidelog.plan.parts import Part, names_of, parts_of


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


class _Generator:
    def __init__(self, rule: RulePlan, surroundings: Surroundings, sharing: Sharing) -> None:
        if not isinstance(rule.node, Project):
            raise Unsayable("rows of the text")
        self._rule = rule
        self._head = rule.node.columns
        self._parts = parts_of(rule.node.input)
        self._surroundings = surroundings
        self._sharing = sharing
        self._writer = Writer()
        self._terms = Terms(self._writer, rule.kinds)
        self._atoms = Atoms(self._writer, surroundings, rule.head)
        self._ages: Ages | None = None
        self._pushed: Pushed | PushedBlock | None = None
        self._shape = Shape(rule, self._parts, self._head, surroundings)
        is_divided = sharing is Sharing.TOGETHER and surroundings.width(rule.head) == 2
        self._division = Division(self._writer, self._atoms.bound, self._head[0] if is_divided else None)
        wanted = None if self._shape.may_fail() else self._shape.firsts
        self._loops = Loops(self._writer, self._atoms.bound, wanted, self._division)

    def generate(self) -> PushedRule:
        if not self._surroundings.is_stored(self._rule.head):
            raise Unsayable("a head that is kept as a closure")
        start = self._start()
        keeps_first = self._division.take_bound()
        for number, part in enumerate(self._parts[1:], start=1):
            self._loops.open(names_of(part))
            self._division.take_bound()
            self._part(part, self._parts[number + 1 :])
        self._division.take_bound()
        sink = Sink(self._rule.head, self._surroundings.width(self._rule.head))
        head = Head(sink, self._head, self._writer, self._terms, self._loops, self._sharing.value, self._division)
        head.emit(self._pushed)
        return self._finished(start, keeps_first=keeps_first)

    def _finished(self, start: RowsOf | RunsOf | ChangedKeys, *, keeps_first: bool) -> PushedRule:
        writer = self._writer
        if too_deep := writer.too_deep:
            raise Unsayable(too_deep)
        names = [name for operand, stem in writer.operands.items() for name in parameters(operand, stem)]
        names += ["begin", "end", *self._division.parameters]
        heading = [f"def push({', '.join(names)}):", f"    {_as_text(self._rule)!r}"]
        source = "\n".join([*heading, *writer.lines, "    return end", ""])
        is_divided = bool(self._division.parameters)
        return PushedRule(source, tuple(writer.operands), start, is_divided, keeps_first)

    def _start(self) -> RowsOf | RunsOf | ChangedKeys:
        """Writes the outermost loop; what it runs over."""
        if not self._parts or not isinstance(self._parts[0], Scan):
            raise Unsayable("a body that does not begin with an atom")
        scan = self._parts[0]
        self._check_scan(scan)
        grouped = self._grouping(scan)
        if grouped is not None:
            return grouped
        takes_runs = self._shape.takes_runs(scan)
        start = RunsOf(scan.relation) if takes_runs else RowsOf(scan.relation, scan.version)
        is_aged = AGE in scan.columns
        rows, *numbers = self._writer.operand(NumberedRows(scan.relation) if is_aged else start)
        self._atoms.note(scan)
        self._writer.open("for row in range(begin, end):")
        if takes_runs:
            self._take_run(scan, rows)
            return start
        places = {number: f"{rows}[row, {number}]" for number, name in enumerate(scan.columns) if name != AGE}
        self._atoms.agree(scan, places)
        self._atoms.bind(scan, places, None)
        self._look_ahead(scan, rows)
        if is_aged:
            self._ages = Ages(self._writer, scan.relation, f"{numbers[0]}[row]")
            self._ages.find(part.relation for part in self._parts if _is_younger(part))
        return start

    def _take_run(self, scan: Scan, rows: str) -> None:
        """Writes what goes on only at the first row of a run; the loop over its rows comes later."""
        first, other = map(str, scan.columns)
        self._writer.line(f"if row > begin and {rows}[row, 0] == {rows}[row - 1, 0]:")
        self._writer.line("    continue")
        stop = self._writer.fresh("stop")
        self._writer.line(f"{stop} = {self._writer.call('end_of_run', rows, 'row', 'end')}")
        self._writer.line(f"{self._writer.variable(first)} = {rows}[row, 0]")
        self._atoms.bound.add(first)
        writer, bound = self._writer, self._atoms.bound  # whoever is left a loop must not hold the generator

        def loop() -> None:
            at = writer.fresh("at")
            writer.open(f"for {at} in range(row, {stop}):")
            writer.line(f"{writer.variable(other)} = {rows}[{at}, 1]")
            bound.add(other)

        self._loops.leave({other}, loop)

    def _look_ahead(self, scan: Scan, rows: str) -> None:
        """Has what the rows to come will ask for brought near, if that are the blocks of one column."""
        following = self._parts[1] if len(self._parts) > 1 else None
        if not isinstance(following, Scan) or not self._surroundings.is_stored(following.relation):
            return
        key, _ = self._atoms.key(following)
        new = set(new_columns(following, key))
        if len(key) != 1 or self._is_read_as_words(following, key[0]):
            return
        if following.columns[key[0]] in scan.columns and not new <= {self._shape.last_of_head()}:
            starts, _, counts, payload = self._writer.operand(Blocks(following.relation, key))
            column = scan.columns.index(following.columns[key[0]])
            self._writer.line(self._writer.call("look_ahead", rows, str(column), "row", "end", starts, counts, payload))

    def _grouping(self, scan: Scan) -> ChangedKeys | None:
        """Where what follows first asks for one column of a delta of pairs only, or rows with the same first id are
        taken together: the loop over the values of that column. The ids of the other column come later, or are pushed
        at once in the end."""
        names = scan.columns
        if scan.version is not Version.DELTA or len(names) != 2 or self._shape.may_fail() or len(self._parts) < 2:
            return None
        if any(isinstance(name, Constant) for name in names) or names[0] == names[1]:
            return None
        asked = [number for number in (0, 1) if names[number] in names_of(self._parts[1])]
        is_pushed = len(asked) == 1 and self._is_last(names[1 - asked[0]])
        if is_pushed or (len(asked) == 1 and self._is_selective(scan, asked[0])):
            key = asked[0]
        elif self._shape.takes_runs(scan) and self._shape.has_words(scan.relation, 0):
            key = 0
        else:
            return None
        other = names[1 - key]
        start = ChangedKeys(scan.relation, key)
        (keys,) = self._writer.operand(start)
        self._atoms.note(scan)
        self._writer.open("for row in range(begin, end):")
        variable = self._writer.variable(str(names[key]))
        self._writer.line(f"{variable} = {keys}[row]")
        self._atoms.bound.add(str(names[key]))
        words = Words(scan.relation, key, Version.DELTA)
        if is_pushed:
            self._push_in_the_end(Pushed(words, variable), str(other))
        elif other is not None and self._shape.is_needed(str(other), self._parts[1:]):
            self._loops.leave_ids(Pushed(words, variable), str(other))
        return start

    def _is_last(self, name: str | Constant | None) -> bool:
        """Whether a name is the second column of the head, and needed for nothing else."""
        return (
            name is not None and name == self._shape.last_of_head() and not self._shape.is_used(name, self._parts[1:])
        )

    def _is_selective(self, scan: Scan, key: int) -> bool:
        """Whether what follows has so few of the values of a column that looking for each value once pays, if the
        words are there anyway. Else rows are read as they came: rows of one head id lie side by side, and so does what
        they are pushed to."""
        following = self._parts[1]
        if not isinstance(following, Scan) or not self._shape.has_words(scan.relation, key):
            return False
        column = following.columns.index(scan.columns[key])
        return self._surroundings.is_rarer((following.relation, column), (scan.relation, key))

    def _part(self, part: Part, rest: Sequence[Part]) -> None:
        match part:
            case Scan(version=Version.YOUNGER):
                self._younger(part)
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
        if scan.version in (Version.OLDER, Version.YOUNGER) or (AGE in scan.columns and scan is not self._parts[0]):
            raise Unsayable("a question about ages")
        if not self._surroundings.is_stored(scan.relation):
            raise Unsayable(f"'{scan.relation}', which is kept as a closure")

    def _younger(self, scan: Scan) -> None:
        """Goes on if a row of which all columns are known came after the one that the question is about."""
        plain = Scan(scan.relation, scan.columns[:-1])
        key, texts = self._atoms.key(plain)
        if self._ages is None or len(key) < len(plain.columns) or not self._surroundings.is_stored(scan.relation):
            raise Unsayable("a question about ages")
        self._atoms.note(scan)
        self._writer.open(f"if {self._ages.is_younger(scan.relation, self._atoms.number(plain, texts))}:")

    def _lookup(self, scan: Scan, rest: Sequence[Part]) -> None:
        key, texts = self._atoms.key(scan)
        new = new_columns(scan, key)
        needed = [name for name in new if self._shape.is_needed(name, rest) or repeats(scan, name)]
        if not needed:
            self._writer.open(f"if {self._atoms.presence(scan)}:")
        elif self._can_push(scan, key, needed, rest):
            self._push_in_the_end(self._words_of(scan, key[0], texts[0]), needed[0])
        elif not key:
            (rows,) = self._writer.operand(RowsOf(scan.relation, scan.version))
            self._loop_later(scan, ("0", f"{rows}.shape[0]"), rows, range(len(scan.columns)), needed, rest)
        elif len(key) == 1 and len(needed) == 1 and self._is_read_as_words(scan, key[0]):
            pushed = self._words_of(scan, key[0], texts[0])
            self._loops.leave_ids(pushed, needed[0])
        else:
            bounds = self._atoms.block(scan, key, texts)
            payload = self._writer.operand(Blocks(scan.relation, key))[3]
            others = [number for number in range(len(scan.columns)) if number not in key]
            self._loop_later(scan, bounds, payload, others, needed, rest)

    def _loop_later(
        self, scan: Scan, bounds: tuple[str, str], rows: str, columns: Sequence[int], needed: list[str],
        rest: Sequence[Part],
    ) -> None:  # fmt: skip
        """Goes on only if there are rows within `bounds`, whose columns are those `columns`; loops over them later."""
        low, high = bounds
        writer, atoms = self._writer, self._atoms  # whoever is left a loop must not hold the generator

        def loop() -> None:
            at = writer.fresh("at")
            writer.open(f"for {at} in range({low}, {high}):")
            atoms.bind(scan, {column: f"{rows}[{at}, {place}]" for place, column in enumerate(columns)}, needed)

        self._writer.open(f"if {low} < {high}:")
        is_last = needed == [self._shape.last_of_head()] and not self._shape.is_used(needed[0], rest)
        if any(repeats(scan, name) for name in needed):
            loop()  # a row in which a name has two values is none, whether somebody asks for the name or not
            return
        is_block = len(columns) == 1 and scan.version in (Version.FULL, Version.OLD, Version.DELTA)
        ids = PushedBlock(scan.relation, columns[0], rows, bounds, loop) if is_block else None
        if ids is not None and is_last and self._shape.is_gathered(scan):
            self._pushed = ids
        else:
            self._loops.leave(set(needed), loop, ids)

    def _can_push(self, scan: Scan, key: tuple[int, ...], needed: list[str], rest: Sequence[Part]) -> bool:
        """Whether all ids that a scan gives can be pushed at once in the end."""
        return (
            self._pushed is None
            and needed == [self._shape.last_of_head()]
            and len(scan.columns) == 2
            and len(key) == 1
            and not repeats(scan, needed[0])
            and not self._shape.is_used(needed[0], rest)
            and scan.version in (Version.FULL, Version.OLD, Version.DELTA)
            and (self._shape.is_recursive(scan.relation) or self._surroundings.has_long_rows(scan.relation, key[0]))
        )

    def _push_in_the_end(self, pushed: Pushed, name: str) -> None:
        """Leaves the loop over the ids of a key to the end."""
        self._pushed = pushed
        self._loops.begin()
        self._atoms.bound.add(name)

    def _words_of(self, scan: Scan, key: int, text: str) -> Pushed:
        """The words of a key; goes on only if there are some.

        What is OLD is not kept as words: all ids are read instead, some of which another version of the rule derives as
        well.
        """
        words = Words(scan.relation, key, Version.DELTA if scan.version is Version.DELTA else Version.FULL)
        _, counts, sizes, _, _ = self._writer.operand(words)
        self._writer.open(f"if {text} < {counts}.size and {sizes}[{text}] > 0:")
        return Pushed(words, text)

    def _is_read_as_words(self, scan: Scan, key: int) -> bool:
        """Whether the ids of a key are read off words that are there anyway."""
        return len(scan.columns) == 2 and self._shape.has_words(scan.relation, key)


def _is_younger(part: Part) -> TypeGuard[Scan]:
    """Whether a part asks for rows that came after the one that a question is about."""
    return isinstance(part, Scan) and part.version is Version.YOUNGER


def _is_copy(rule: RulePlan) -> bool:
    """Whether a rule reads one relation and computes nothing."""
    node = rule.node
    if not isinstance(node, Project):
        return False
    parts = parts_of(node.input)
    is_read = len(parts) == 1 and isinstance(parts[0], Scan | Values)
    return is_read and all(isinstance(term, Variable) for term in node.columns)


def _as_text(rule: RulePlan) -> str:
    """The rule and where it stands. It may hold anything, so that it must be quoted where it stands in code."""
    return f"{' '.join(rule.text.split())}  ({rule.span.file.rsplit('/', 1)[-1]}:{rule.span.line})"
