"""Code that was written for one session is good for another where the same questions have the same answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given

import tidelog
from tidelog import Maintenance, Tier
from tidelog.backends.local import pushing
from tidelog.checking import check_program
from tidelog.codegen.operands import PushedRule
from tidelog.codegen.push_rule import Sharing, push_rule
from tidelog.codegen.written import WAYS_KEPT, Written, written
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import Constant
from tidelog.plan.lower import lower
from tidelog.plan.nodes import RulePlan
from tidelog.plan.optimize import optimize
from tidelog.plan.same import as_written
from tidelog.schema import Kind
from unit.kernels.forms import tier
from unit.local.test_tiers import EDGES, PROGRAMS
from unit.plan.rule_texts import rule_plan, rules

TEXT = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@dataclass
class Saying:
    """Surroundings in which `long` and `rarer` have these answers; all others are the same. `asked` grows."""

    long: bool = True
    rarer: bool = False
    asked: list[str] = field(default_factory=list)

    def width(self, relation: str) -> int:  # noqa: ARG002
        return 2

    def is_stored(self, relation: str) -> bool:
        self.asked.append(f"stored {relation}")
        return True

    def is_rarer(self, one: tuple[str, int], other: tuple[str, int]) -> bool:
        self.asked.append(f"rarer {one} {other}")
        return self.rarer

    def has_long_rows(self, relation: str, key: int) -> bool:
        self.asked.append(f"long {relation} {key}")
        return self.long

    def has_few_ids(self, relation: str, column: int) -> bool:
        self.asked.append(f"few {relation} {column}")
        return True

    def has_several(self, relation: str, key: int) -> bool:
        self.asked.append(f"several {relation} {key}")
        return True

    def short_column(self, relation: str) -> int | None:
        self.asked.append(f"short {relation}")
        return None

    def numbers_pairs(self, relation: str) -> bool:
        self.asked.append(f"pairs {relation}")
        return False


def recursion(text: str = TEXT) -> RulePlan:
    plan = optimize(lower(check_program(parse(text))))
    (rule,) = next(stratum.rounds for stratum in plan.strata if stratum.rounds)
    return rule


class Writing:
    """`push_rule`, and how often it was called."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, *given: object) -> object:
        self.times += 1
        return push_rule(*given)


def test_a_rule_of_another_session_is_not_written_again() -> None:
    write = Writing()
    first, again = (written(write, recursion(), Saying(), Sharing.ALONE) for _ in range(2))
    assert again is first
    assert write.times == 1


def test_other_answers_give_other_code_and_both_are_kept() -> None:
    write = Writing()
    codes = [written(write, recursion(), Saying(long=long), Sharing.ALONE).code for long in (True, False, True, False)]
    assert codes == [push_rule(recursion(), Saying(long=long)) for long in (True, False, True, False)]
    assert codes[0] != codes[1]
    assert write.times == 2


def test_what_is_kept_is_asked_no_more_than_who_writes_would_ask() -> None:
    for long in (True, False):
        written(push_rule, recursion(), Saying(long=long), Sharing.ALONE)
        plain, kept = Saying(long=long), Saying(long=long)
        push_rule(recursion(), plain)
        written(push_rule, recursion(), kept, Sharing.ALONE)
        assert set(kept.asked) == set(plain.asked)


def test_the_text_of_a_rule_and_its_line_are_those_of_the_session() -> None:
    def source(text: str) -> str:
        code = written(push_rule, recursion(text), Saying(), Sharing.ALONE).code
        assert isinstance(code, PushedRule)
        return code.source

    assert "(<text>:5)" in source(TEXT)
    assert "(<text>:6)" in source("\n" + TEXT)
    assert "path(u, z) :- path(u, y)" in source(TEXT.replace("path(x, z) :- path(x, y)", "path(u, z) :- path(u, y)"))


def test_only_the_last_ways_to_write_a_rule_are_kept() -> None:
    write = Writing()
    for number in range(WAYS_KEPT + 1):
        written(write, recursion(), Widths(2 + number), Sharing.ALONE)
    written(write, recursion(), Widths(2 + WAYS_KEPT), Sharing.ALONE)
    assert write.times == WAYS_KEPT + 1
    written(write, recursion(), Widths(2), Sharing.ALONE)
    assert write.times == WAYS_KEPT + 2


class Widths(Saying):
    """Surroundings in which all relations have so many columns."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.columns = columns

    def width(self, relation: str) -> int:  # noqa: ARG002
        return self.columns


def test_what_only_looks_equal_is_written_differently() -> None:
    zero, kind = Constant(0.0, Kind.FLOAT), Constant(0.0, Kind.FLOAT, kind=Kind.FLOAT)
    negative = Constant(-0.0, Kind.FLOAT)
    assert zero == kind == negative
    assert len({as_written(zero), as_written(kind), as_written(negative)}) == 3
    rule = recursion()
    other = replace(rule, kinds=dict.fromkeys(rule.kinds, Kind.SYMBOL))
    assert rule == other
    assert as_written(rule) != as_written(other)


@given(rules())
def test_the_same_text_is_written_in_the_same_way(text: str) -> None:
    one, other = rule_plan(text), rule_plan(text)
    assert one is not other
    assert as_written(one) == as_written(other)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_session_writes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Writing()
    monkeypatch.setattr(pushing, "push_rule", write)
    options = {"tier": Tier.PUSH, "maintenance": Maintenance(modules=False)}

    def answer() -> list[object]:
        with tier("plain"), tidelog.open(PROGRAMS[name], **options) as session:
            session.insert("edge", EDGES)
            return sorted(session["out"].rows())

    first = answer()
    times = write.times
    assert times
    assert answer() == first
    assert write.times == times


def test_what_is_kept_is_data() -> None:
    found = written(push_rule, recursion(), Saying(), Sharing.ALONE)
    assert isinstance(found, Written)
    assert all(isinstance(name, str) and isinstance(about, tuple) for name, about in found.told)
