"""What the qualifier `eqrel` stands for."""

from tidelog.analysis import ClosureGroup, ClosureKind, check
from tidelog.analysis.checked import CheckedProgram
from tidelog.language.parser import parse


def checked(text: str) -> CheckedProgram:
    return check(parse(text, "program.dl"))


def closures(text: str) -> list[ClosureGroup]:
    return [group for stratum in checked(text).strata for group in stratum.closures]


def test_an_equivalence_relation_has_a_rule_of_symmetry_and_one_of_transitivity():
    (stratum,) = checked(".decl same(a: number, b: number) eqrel\n.input same").strata
    assert [rule.text for rule in stratum.rules] == [
        "eqrel same: same(y, x) :- same(x, y).",
        "eqrel same: same(x, z) :- same(x, y), same(y, z).",
    ]
    assert {rule.span.line for rule in stratum.rules} == {1}


def test_an_equivalence_relation_is_a_symmetric_closure_whatever_fills_it():
    group = ClosureGroup("same", ClosureKind.SYMMETRIC, 0, 1, (), (-2, -3))
    declared = ".decl same(a: symbol, b: symbol) eqrel\n.decl e(a: symbol, b: symbol)\n.input e\n"
    assert closures(declared) == [group]
    assert closures(declared + ".input same") == [group]
    assert closures(declared + "same(x, y) :- e(x, y), x != y.") == [group]


def test_each_equivalence_relation_has_rules_with_numbers_of_their_own():
    program = checked(".decl same, alike(a: number, b: number) eqrel\nsame(1, 2). alike(x, y) :- same(x, y).")
    numbers = [rule.id for stratum in program.strata for rule in stratum.rules]
    assert len(set(numbers)) == len(numbers) == 6


def test_the_rules_of_an_equivalence_are_no_rules_of_the_program():
    assert list(checked(".decl same(a: number, b: number) eqrel\n.input same").program.rules) == []
