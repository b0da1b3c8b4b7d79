"""From a question about heads to source text: which of these facts have a derivation of that kind?

One derivation is enough, so each loop ends where one was found: a fact with many derivations costs no more than one
with a few. Facts that have an answer already are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from tidelog.codegen.ages import Ages
from tidelog.codegen.atoms import Atoms, Surroundings, new_columns, repeats
from tidelog.codegen.operands import AgedBlocks, Asked, Blocks, NotPushed, PushedRule, RowsOf
from tidelog.codegen.terms import Terms, Unsayable
from tidelog.codegen.writer import Writer, parameters
from tidelog.language.syntax_tree import Comparison, Constant, Variable
from tidelog.plan.nodes import AGE, Antijoin, Project, RulePlan, Scan, Select, Version
from tidelog.plan.parts import Part, names_of, parts_of


def ask_rule(rule: RulePlan, surroundings: Surroundings) -> PushedRule | NotPushed:
    """The code that answers a question for a derivation of marked heads, or why there is none."""
    try:
        return _Asking(rule, surroundings).generate()
    except Unsayable as reason:
        return NotPushed(f"no code for {reason}")


class _Asking:
    def __init__(self, rule: RulePlan, surroundings: Surroundings) -> None:
        if not isinstance(rule.node, Project):
            raise Unsayable("rows of the text")
        self._rule = rule
        self._head = rule.node.columns
        self._parts = parts_of(rule.node.input)
        self._surroundings = surroundings
        self._writer = Writer()
        self._terms = Terms(self._writer, rule.kinds)
        self._atoms = Atoms(self._writer, surroundings, rule.head)
        self._marked = self._marked_scan()
        self._asked = Asked(rule.head, is_numbered=AGE in self._marked.columns)
        self._ages: Ages | None = None

    def generate(self) -> PushedRule:
        marked, writer = self._marked, self._writer
        rows, answered, *_ = writer.operand(self._asked)
        writer.open("for row in range(begin, end):")
        writer.open(f"if {answered}[row] == 0:")
        places = {number: f"{rows}[row, {number}]" for number, name in enumerate(marked.columns) if name != AGE}
        self._atoms.note(marked)
        self._atoms.agree(marked, places)
        self._atoms.bind(marked, places, None)
        if older := [part.relation for part in self._parts if _is_older(part)]:
            self._ages = Ages(writer, marked.relation, f"{writer.operand(self._asked)[2]}[row]")
            self._ages.find(older)
        for number, part in enumerate(self._parts[1:], start=1):
            self._part(part, self._parts[number + 1 :])
        writer.line(f"{answered}[row] = 1")
        if too_deep := writer.too_deep:
            raise Unsayable(too_deep)
        names = [name for operand, stem in writer.operands.items() for name in parameters(operand, stem)]
        heading = f"def push({', '.join([*names, 'begin', 'end'])}):"
        source = "\n".join([heading, *writer.lines, "    return end", ""])
        return PushedRule(source, tuple(writer.operands), RowsOf(marked.relation, Version.MARKED))

    def _marked_scan(self) -> Scan:
        """The scan of the facts that the question is about, which are the heads."""
        marked = self._parts[0] if self._parts else None
        if not isinstance(marked, Scan) or marked.version is not Version.MARKED or marked.relation != self._rule.head:
            raise Unsayable("a question that is not about heads")
        if not self._surroundings.is_stored(marked.relation):
            raise Unsayable("a head that is kept as a closure")
        heads = tuple(term.name if isinstance(term, Variable) else term for term in self._head)
        if heads != marked.columns[: len(heads)]:
            raise Unsayable("a question whose answers are other heads")
        return marked

    def _part(self, part: Part, rest: Sequence[Part]) -> None:
        match part:
            case Scan(version=Version.OLDER):
                self._older(part, rest)
            case Scan(version=Version.FULL):
                self._lookup(part, rest)
            case Antijoin(right=Scan(version=Version.FULL) as scan):
                self._check_stored(scan)
                self._writer.open(f"if not ({self._atoms.presence(scan)}):")
            case Select(_, Comparison(_, left, right) as condition) if _are_plain(left, right):
                self._writer.open(f"if {self._terms.condition(condition)}:")
            case _:
                raise Unsayable("a body of more than atoms and comparisons")

    def _check_stored(self, scan: Scan) -> None:
        if not self._surroundings.is_stored(scan.relation):
            raise Unsayable(f"'{scan.relation}', which is kept as a closure")

    def _lookup(self, scan: Scan, rest: Sequence[Part]) -> None:
        self._check_stored(scan)
        self._atoms.note(scan)
        key, texts = self._atoms.key(scan)
        needed = _needed(scan, key, rest)
        if not needed:
            self._writer.open(f"if {self._atoms.presence(scan)}:")
            return
        if not key:
            raise Unsayable("a product")
        low, high = self._atoms.block(scan, key, texts)
        payload = self._writer.operand(Blocks(scan.relation, key))[3]
        at = self._loop(low, high)
        others = [number for number in range(len(scan.columns)) if number not in key]
        self._atoms.bind(scan, {column: f"{payload}[{at}, {place}]" for place, column in enumerate(others)}, needed)

    def _older(self, scan: Scan, rest: Sequence[Part]) -> None:
        """Goes on for rows of the scan that came before the fact."""
        self._check_stored(scan)
        self._atoms.note(scan)
        assert self._ages is not None
        plain = Scan(scan.relation, scan.columns[:-1])
        key, texts = self._atoms.key(plain)
        if len(key) == len(plain.columns):
            self._writer.open(f"if {self._ages.is_older(scan.relation, self._atoms.number(plain, texts))}:")
            return
        if len(key) != 1:
            raise Unsayable("older rows that agree on several columns")
        starts, counts, payload = self._writer.operand(AgedBlocks(scan.relation, key[0]))
        low, high = self._writer.fresh("low"), self._writer.fresh("high")
        self._writer.line(f"{low} = {high} = np.int64(0)")
        with self._writer.block(f"if 0 <= {texts[0]} < {starts}.size:"):
            self._writer.line(f"{low} = np.int64({starts}[{texts[0]}])")
            self._writer.line(f"{high} = {low} + {counts}[{texts[0]}]")
        at = self._loop(low, high)
        others = [number for number in range(len(plain.columns)) if number not in key]
        self._writer.open(f"if {self._ages.is_older(scan.relation, f'{payload}[{at}, {len(others)}]')}:")
        places = {column: f"{payload}[{at}, {place}]" for place, column in enumerate(others)}
        self._atoms.bind(plain, places, _needed(plain, key, rest))

    def _loop(self, low: str, high: str) -> str:
        """Writes a loop that ends where the fact has an answer; the name of what it counts."""
        at = self._writer.fresh("at")
        _, answered, *_ = self._writer.operand(self._asked)
        self._writer.open(f"for {at} in range({low}, {high}):")
        self._writer.line(f"if {answered}[row]:")
        self._writer.line("    break")
        return at


def _is_older(part: Part) -> TypeGuard[Scan]:
    """Whether a part asks for rows that came before the fact."""
    return isinstance(part, Scan) and part.version is Version.OLDER


def _needed(scan: Scan, key: tuple[int, ...], rest: Sequence[Part]) -> list[str]:
    """The names that a scan must bind: those that are asked for later, or stand in it more than once."""
    new = new_columns(scan, key)
    return [name for name in new if repeats(scan, name) or any(name in names_of(part) for part in rest)]


def _are_plain(*terms: object) -> bool:
    """Whether terms have a value whatever the row is."""
    return all(isinstance(term, Variable | Constant) for term in terms)
