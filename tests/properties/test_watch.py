"""Matches that begin and end with a tuple are what the oracle has more and less after it; no index has a history."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import evaluate
from tidelog.activation.dump import count_dummies, data_index, order_of, semantic_index
from tidelog.activation.protocol import Arrivals
from tidelog.activation.watcher import Watcher
from tidelog.analysis.check import check
from tidelog.language.parser import parse
from unit.activation.watching import rules_for, watcher_of

ARITIES = {"a": 1, "b": 2, "c": 2, "d": 3}


def declared(marks):
    """The relations, each with the column that `marks` gives it as its location."""
    columns = {
        name: [f"{'@' if marks.get(name) == at else ''}x{at}: number" for at in range(arity)]
        for name, arity in ARITIES.items()
    }
    return "".join(f".decl {name}({', '.join(found)})\n" for name, found in columns.items())


DECLARED = declared({})
NAMES = ("x", "y", "z", "w")
constants = st.integers(-1, 2).map(str)
operators = st.sampled_from(["<", "<=", ">", ">=", "!=", "="])


@st.composite
def atoms(draw, terms):
    relation = draw(st.sampled_from(sorted(ARITIES)))
    return f"{relation}({', '.join(draw(terms) for _ in range(ARITIES[relation]))})"


@st.composite
def watch_rules(draw):
    """The text of a rule for `q`: joins, constants, repeated variables, cross products, negations and comparisons."""
    anything = st.one_of(st.sampled_from(NAMES), st.sampled_from(NAMES), constants, st.just("_"))
    positive = draw(st.lists(atoms(anything), min_size=1, max_size=3))
    bound = [name for name in NAMES if any(name in atom[1:] for atom in positive)]
    known = st.one_of(st.sampled_from(bound), constants) if bound else constants
    negated = draw(st.lists(atoms(st.one_of(known, st.just("_"))), max_size=2))
    compared = draw(st.lists(st.tuples(known, operators, known).map(" ".join), max_size=3)) if bound else []
    head = draw(st.lists(known, max_size=2))
    return head, [*positive, *(f"!{atom}" for atom in negated), *compared]


@st.composite
def order_rules(draw):
    """The text of a rule for `q` whose literals nothing but comparisons join."""
    names = draw(st.permutations(["x", "y", "z"]))
    body = [draw(st.sampled_from([f"a({name})", f"b({name}, _)", f"c(_, {name})", f"b(1, {name})"])) for name in names]
    pairs = draw(st.lists(st.sampled_from([("x", "y"), ("y", "z"), ("x", "z"), ("x", "1")]), min_size=2, max_size=4))
    orders = [draw(st.sampled_from(["<", "<=", ">", ">=", "!="])) for _ in pairs]
    compared = [f"{left} {order} {right}" for (left, right), order in zip(pairs, orders, strict=True)]
    return names[:2], [*body, *compared]


@st.composite
def programs(draw):
    head, body = draw(st.one_of(watch_rules(), order_rules()))
    columns = ", ".join(f"h{at}: number" for at in range(len(head)))
    return f"{DECLARED}.decl q({columns})\nq({', '.join(head)}) :- {', '.join(body)}.\n"


@st.composite
def tuples(draw):
    relation = draw(st.sampled_from(sorted(ARITIES)))
    return relation, tuple(draw(st.integers(-1, 2)) for _ in range(ARITIES[relation]))


scripts = st.lists(st.tuples(tuples(), st.booleans()), max_size=25)


@settings(max_examples=300)
@given(programs(), scripts)
def test_matches_begin_and_end_as_the_oracle_says_after_every_tuple(text, script):
    watcher, checked = watcher_of(text)
    facts = {relation: set() for relation in ARITIES}
    before = set()
    for (relation, row), comes in script:
        found = watcher.insert(relation, row) if comes else watcher.delete(relation, row)
        (facts[relation].add if comes else facts[relation].discard)(row)
        now = evaluate(checked, facts)["q"]
        assert sorted(match.row for match in found if match.begins) == sorted(now - before)
        assert sorted(match.row for match in found if not match.begins) == sorted(before - now)
        before = now


locations = st.fixed_dictionaries({}, optional={name: st.integers(0, arity - 1) for name, arity in ARITIES.items()})


@settings(max_examples=150)
@given(programs(), locations.filter(bool), st.integers(-1, 2), scripts)
def test_at_a_place_matches_are_those_of_the_tuples_that_are_stored_there(text, marks, place, script):
    """What a negated literal denies would be stored there too: of other places a node knows nothing."""
    watcher, _ = watcher_of(text.replace(DECLARED, declared(marks)), place)
    negated = re.findall(r"!(\w)\(([^)]*)\)", text)
    denied = [terms.split(", ")[marks[relation]] for relation, terms in negated if relation in marks]
    demands = [f"{term} = {place}" for term in denied if term != "_"]
    checked = check(parse(", ".join([text.removesuffix(".\n"), *demands]) + ".\n"))
    facts = {relation: set() for relation in ARITIES}
    before = set()
    for (relation, row), comes in script:
        found = watcher.insert(relation, row) if comes else watcher.delete(relation, row)
        if relation not in marks or row[marks[relation]] == place:
            (facts[relation].add if comes else facts[relation].discard)(row)
        now = evaluate(checked, facts)["q"]
        assert sorted(match.row for match in found if match.begins) == sorted(now - before)
        assert sorted(match.row for match in found if not match.begins) == sorted(before - now)
        before = now


@settings(max_examples=60)
@given(programs(), scripts)
def test_an_index_after_any_script_is_the_index_built_from_scratch(text, script):
    watcher, checked = watcher_of(text)
    facts = {}
    for (relation, row), comes in script:
        (watcher.insert if comes else watcher.delete)(relation, row)
        facts.pop((relation, row), None)
        if comes:
            facts[relation, row] = None
    fresh, _ = watcher_of(text)
    for relation, row in facts:
        fresh.insert(relation, row)
    for relation, arity in ARITIES.items():
        for column in range(arity):
            assert data_index(watcher.index, relation, column) == data_index(fresh.index, relation, column)
            order = order_of(watcher.index, relation, column)
            assert order == order_of(fresh.index, relation, column)
            assert not order or order == sorted(data_index(watcher.index, relation, column).items())
    for rule in range(len(rules_for(checked, "q"))):
        entries = semantic_index(watcher.index, rule, watcher.codes)
        assert entries == semantic_index(fresh.index, rule, fresh.codes)
        assert count_dummies(watcher.index, rule, watcher.codes) == sum(not entry.fires for entry in entries)
    assert watcher.index.size().entries == fresh.index.size().entries


@settings(max_examples=60)
@given(programs(), scripts, st.integers(0, 25))
def test_a_micro_batch_gives_what_its_tuples_give_one_by_one(text, script, cut):
    one_by_one, _ = watcher_of(text)
    batched, _ = watcher_of(text)
    expected = []
    for (relation, row), comes in script:
        expected.append([*(one_by_one.insert if comes else one_by_one.delete)(relation, row)])
    found = [[] for _ in script]
    for begin, end in ((0, cut), (cut, len(script))):
        for match in batched.read(batched.apply(arrivals(batched, script[begin:end]))):
            found[begin + match.arrival].append(match)
    plain = [[(match.row, match.begins) for match in matches] for matches in found]
    assert plain == [[(match.row, match.begins) for match in matches] for matches in expected]


@settings(max_examples=60)
@given(programs(), scripts, scripts)
def test_a_rule_added_later_begins_and_ends_as_one_that_was_there(text, first, second):
    early, checked = watcher_of(text)
    late = Watcher()
    for relation in ARITIES:
        late.add_relation(checked.schemas[relation])
    for watcher in (early, late):
        watcher.apply(arrivals(watcher, first))
    late.add_watch(rules_for(checked, "q"), checked.schemas["q"].kinds)
    for (relation, row), comes in second:
        found = [(watcher.insert if comes else watcher.delete)(relation, row) for watcher in (early, late)]
        assert sorted(map(repr, found[0])) == sorted(map(repr, found[1]))


def arrivals(watcher, script):
    rows = np.zeros((len(script), watcher.index.width), np.int64)
    for at, ((_, row), _) in enumerate(script):
        rows[at, : len(row)] = row
    relations = [watcher.index.relations[relation] for (relation, _), _ in script]
    signs = [1 if comes else -1 for _, comes in script]
    return Arrivals(np.array(relations, np.int32), np.array(signs, np.int8), rows)
