"""The paper's examples, step by step: what is in the index after each tuple, and what fires."""

from __future__ import annotations

from tidelog.activation.dump import data_index, order_of, semantic_index
from tidelog.activation.elements import all_elements, minimal_elements, show_element
from tidelog.kernels import watch_program as join
from unit.activation.watching import rules_for, watcher_of


def numbers(**relations: int) -> str:
    """Declarations of relations of so many number columns."""
    columns = {name: ", ".join(f"x{at}: number" for at in range(arity)) for name, arity in relations.items()}
    return "".join(f".decl {name}({found})\n" for name, found in columns.items())


def events(watcher, steps):
    """What begins (+) and ends (-) with each tuple that comes (+) or goes (-)."""
    found = []
    for sign, relation, *row in steps:
        matches = (watcher.insert if sign == "+" else watcher.delete)(relation, row)
        found.append(sorted(("+" if match.begins else "-", *match.row) for match in matches))
    return found


def entries(watcher, rule=0):
    return [str(entry) for entry in semantic_index(watcher.index, rule, watcher.codes)]


def shown(text, chosen=minimal_elements):
    _, checked = watcher_of(text)
    rule = rules_for(checked, "q")[0]
    return [show_element(element, rule) for element in chosen(rule)]


FIGURE_6 = numbers(q=2, w=2, s=2, t=2) + "q(a, b) :- w(3, x), s(x, a), t(x, b).\n"


def test_rule_r4_has_three_elements_of_which_two_compare_with_the_representative():
    text = numbers(q=3, s=3, t=2, w=2) + "q(a, b, c) :- s(3, x, a), t(x, b), w(x, c).\n"
    assert shown(text) == ["s.$1 = 3", "t.$1 = s.$2", "w.$1 = s.$2"]
    assert shown(text, all_elements) == ["s.$1 = 3", "t.$1 = s.$2", "w.$1 = s.$2", "w.$1 = t.$1"]


def test_elements_of_chains_cycles_self_joins_repeated_variables_and_cross_products():
    declared = numbers(q=1, e=2, f=2, p=1)
    assert shown(declared + "q(x) :- e(x, y), f(y, z).") == ["f.$1 = e.$2"]
    assert shown(declared + "q(x) :- e(x, y), e(y, z), e(z, x).") == [
        "e[3].$2 = e[1].$1",
        "e[2].$1 = e[1].$2",
        "e[3].$1 = e[2].$2",
    ]
    assert shown(declared + "q(x) :- e(x, x).") == ["e.$2 = e.$1"]
    assert shown(declared + "q(x) :- e(x, _), f(_, _).") == []
    assert shown(declared + "q(x) :- e(x, y), !f(x, y), x < y, y >= 2, z = 1, p(z).") == [
        *("p.$1 = 1", "f.$1 = e.$1", "f.$2 = e.$2", "e.$1 < e.$2", "e.$2 >= 2", "!f")
    ]


def test_figure_6_gives_one_row_and_keeps_the_others_as_dummies():
    watcher, _ = watcher_of(FIGURE_6)
    base = [("w", 6, 7), ("w", 2, 1), ("w", 3, 2), ("w", 3, 3), ("w", 3, 12)]
    base += [("t", 1, 8), ("t", 2, 9), ("t", 4, 10), ("t", 5, 11), ("t", 4, 12)]
    base += [("s", 2, 4), ("s", 5, 3), ("s", 7, 6)]
    found = events(watcher, [("+", *row) for row in base])
    assert [event for step in found for event in step] == [("+", 4, 9)]
    assert found[10] == [("+", 4, 9)]
    assert data_index(watcher.index, "t", 0) == {1: {(1, 8)}, 2: {(2, 9)}, 4: {(4, 10), (4, 12)}, 5: {(5, 11)}}
    assert data_index(watcher.index, "s", 1) == {}
    assert entries(watcher) == [
        "s.$1 = w.$2: (F, IS, 12) w(3, 12)",
        "s.$1 = w.$2: (F, IS, 3) w(3, 3)",
        "s.$1 = w.$2: (F, IS, 5) s(5, 3)",
        "s.$1 = w.$2: (F, IS, 7) s(7, 6)",
        "s.$1 = w.$2: (T, IS, 2) s(2, 4)",
        "s.$1 = w.$2: (T, IS, 2) w(3, 2)",
        "t.$1 = w.$2: (F, IS, 1) t(1, 8)",
        "t.$1 = w.$2: (F, IS, 12) w(3, 12)",
        "t.$1 = w.$2: (F, IS, 3) w(3, 3)",
        "t.$1 = w.$2: (F, IS, 4) t(4, 10)",
        "t.$1 = w.$2: (F, IS, 4) t(4, 12)",
        "t.$1 = w.$2: (F, IS, 5) t(5, 11)",
        "t.$1 = w.$2: (T, IS, 2) t(2, 9)",
        "t.$1 = w.$2: (T, IS, 2) w(3, 2)",
        "w.$1 = 3: (T, CS, 3) w(3, 12)",
        "w.$1 = 3: (T, CS, 3) w(3, 2)",
        "w.$1 = 3: (T, CS, 3) w(3, 3)",
    ]


def test_deleting_one_of_two_tuples_under_a_key_leaves_the_other_and_touches_no_other_relation():
    watcher, _ = watcher_of(FIGURE_6)
    events(watcher, [("+", "w", 3, 2), ("+", "s", 2, 4), ("+", "t", 2, 9), ("+", "t", 2, 8)])
    assert events(watcher, [("-", "t", 2, 9)]) == [[("-", 4, 9)]]
    assert data_index(watcher.index, "t", 0) == {2: {(2, 8)}}
    assert data_index(watcher.index, "s", 0) == {2: {(2, 4)}}
    assert events(watcher, [("-", "t", 2, 8)]) == [[("-", 4, 8)]]
    assert "t.$1 = w.$2: (F, IS, 2) w(3, 2)" in entries(watcher)
    assert events(watcher, [("+", "t", 2, 7)]) == [[("+", 4, 7)]]


def test_figure_9_orders_give_two_rows():
    watcher, _ = watcher_of(numbers(q=2, w=2, s=2) + "q(a, b) :- w(a, x), s(y, b), a > 3, x > y.\n")
    rows = [("w", 6, 7), ("w", 2, 1), ("w", 3, 2), ("w", 3, 3), ("w", 3, 12), ("s", 2, 4), ("s", 5, 3), ("s", 7, 6)]
    found = events(watcher, [("+", *row) for row in rows])
    assert found[5:] == [[("+", 6, 4)], [("+", 6, 3)], []]
    assert order_of(watcher.index, "w", 1) == [
        (1, {(2, 1)}),
        (2, {(3, 2)}),
        (3, {(3, 3)}),
        (7, {(6, 7)}),
        (12, {(3, 12)}),
    ]
    assert order_of(watcher.index, "s", 0) == [(2, {(2, 4)}), (5, {(5, 3)}), (7, {(7, 6)})]
    assert order_of(watcher.index, "w", 0) == []
    assert entries(watcher) == [
        "w.$2 > s.$1: (F, InequalityS, 7) s(7, 6)",
        "w.$2 > s.$1: (T, InequalityS, 2) s(2, 4)",
        "w.$2 > s.$1: (T, InequalityS, 5) s(5, 3)",
        "w.$2 > s.$1: (T, InequalityS, 7) w(6, 7)",
    ]
    assert events(watcher, [("+", "w", 4, 1), ("+", "s", 0, 0), ("-", "w", 6, 7)]) == [
        *([], [("+", 4, 0), ("+", 6, 0)], [("-", 6, 0), ("-", 6, 3), ("-", 6, 4)])
    ]
    assert [key for key, _ in order_of(watcher.index, "s", 0)] == [0, 2, 5, 7]
    assert [key for key, _ in order_of(watcher.index, "w", 1)] == [1, 2, 3, 12]


def test_figure_11_an_address_is_a_constant_that_every_tuple_must_have():
    watcher, _ = watcher_of(numbers(q=2, l=2, p=2, d=2) + "q(x, y) :- l(x, 1), p(1, y), d(x, z).\n")
    rows = [("l", 6, 5), ("l", 2, 1), ("l", 3, 7), ("l", 3, 3), ("l", 13, 3), ("p", 2, 3), ("p", 1, 1), ("p", 5, 6)]
    rows += [("p", 7, 2), ("d", 1, 3), ("d", 5, 1), ("d", 7, 6), ("d", 4, 2)]
    assert not any(events(watcher, [("+", *row) for row in rows]))
    assert "d.$1 = l.$1: (F, IS, 2) l(2, 1)" in entries(watcher)
    assert events(watcher, [("+", "d", 2, 9), ("+", "d", 2, 8), ("-", "d", 2, 9), ("-", "d", 2, 8)]) == [
        *([("+", 2, 1)], [], [], [("-", 2, 1)])
    ]


ADDRESSED = numbers(q=2, near=2, device=2) + "q(p, d) :- near(p, 1), device(d, 1).\n"


def test_figure_11_the_same_by_columns_that_say_where_tuples_are_stored():
    declared = ".decl l(x: number, @a: number)\n.decl p(@a: number, y: number)\n" + numbers(q=2, d=2)
    named, _ = watcher_of(declared + "q(x, y) :- l(x, a), p(a, y), d(x, z).\n", place=1)
    constant, _ = watcher_of(numbers(q=2, l=2, p=2, d=2) + "q(x, y) :- l(x, 1), p(1, y), d(x, z).\n")
    rows = [("l", 6, 5), ("l", 2, 1), ("l", 3, 7), ("p", 2, 3), ("p", 1, 1), ("d", 1, 3), ("d", 2, 9)]
    steps = [(sign, *row) for sign in "+-" for row in rows]
    assert events(named, steps) == events(constant, steps)
    assert entries(named) == entries(constant)
    assert [named.index.accesses()] == [constant.index.accesses()]


def test_a_tuple_at_another_address_reaches_no_index_and_starts_nothing():
    watcher, _ = watcher_of(ADDRESSED)
    assert events(watcher, [("+", "near", 5, 2), ("+", "device", 6, 2)]) == [[], []]
    touched = watcher.index.accesses()
    assert (touched.searches, touched.entries, touched.tuples) == (0, 0, 0)
    assert data_index(watcher.index, "near", 1) == {}


def test_the_address_is_looked_at_before_everything_else():
    watcher, _ = watcher_of(
        numbers(q=2, l=2, p=2, d=2) + "q(x, y) :- l(x, 1), d(x, z), p(1, y).\nq(z, z) :- p(2, z).\n"
    )
    events(watcher, [("+", "l", 7, 1), ("+", "p", 2, 6)])
    before = watcher.index.statistics[0].copy()
    assert events(watcher, [("+", "d", 7, 3)]) == [[]]
    read = watcher.index.statistics[0] - before
    # One entry for the address of l and one for that of p, which comes last in the body: nothing is stored there.
    assert (read[join.RULE_ENTRIES_READ], read[join.EFFECTIVE]) == (2, 0)
    assert events(watcher, [("+", "p", 1, 9)]) == [[("+", 7, 9)]]


def test_rule_r2_a_mother_waits_for_the_father_and_the_son_for_both():
    watcher, _ = watcher_of(
        ".decl q(z: symbol)\n.decl father(z: symbol, x: symbol)\n.decl mother(z: symbol, y: symbol)\n"
        '.decl sex(z: symbol, m: symbol)\nq(z) :- father(z, _), mother(z, _), sex(z, "M").\n'
    )
    waiting = lambda: sum(not entry.fires for entry in semantic_index(watcher.index, 0, watcher.codes))  # noqa: E731
    assert events(watcher, [("+", "mother", "Mary", "Jane")]) == [[]]
    assert waiting() == 1
    assert events(watcher, [("+", "father", "Mary", "George")]) == [[]]
    assert waiting() == 1  # the father, for Mary's sex
    assert events(watcher, [("+", "sex", "Mary", "F"), ("+", "sex", "Bill", "M")]) == [[], []]
    assert events(watcher, [("+", "mother", "Bill", "Ellen"), ("+", "father", "Bill", "Tom")]) == [[], [("+", "Bill")]]
    assert events(watcher, [("-", "father", "Bill", "Tom"), ("+", "father", "Bill", "Jim")]) == [
        [("-", "Bill")],
        [("+", "Bill")],
    ]
