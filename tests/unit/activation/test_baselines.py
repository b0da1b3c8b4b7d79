"""Every structure finds the same matches as the yield index; what they touch differs as it should."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tidelog.activation.baselines import JoinIndex, Structure
from tidelog.activation.codes import Codes
from tidelog.activation.protocol import ActivationIndex, Arrivals
from tidelog.activation.yield_index import YieldIndex
from tidelog.analysis.check import check
from tidelog.language.parser import parse
from unit.activation.test_compiled import TEXT
from unit.activation.test_figures import numbers
from unit.activation.watching import rules_for

UC = numbers(q=2, near=2, use=2, request=2) + "q(x, y) :- near(x, z), use(x, z), request(z, y).\n"


def prepared(index: ActivationIndex, text: str) -> dict[str, tuple[int, int]]:
    """The number and the width of each relation, once the rules of a program are added to an index."""
    checked = check(parse(text))
    relations = {
        name: (index.add_relation(found), found.arity) for name, found in checked.schemas.items() if name != "q"
    }
    for rule in rules_for(checked, "q"):
        index.add_rule(rule)
    return relations


def arrivals(script: list[tuple[int, tuple[int, ...], int]]) -> Arrivals:
    rows = np.zeros((len(script), 3), np.int64)
    for at, (_, row, _) in enumerate(script):
        rows[at, : len(row)] = row
    return Arrivals(
        np.array([relation for relation, _, _ in script], np.int32),
        np.array([sign for _, _, sign in script], np.int8),
        rows[:, : max(len(row) for _, row, _ in script)].copy(),
    )


def plain(matches):
    marks = zip(matches.arrivals.tolist(), matches.signs.tolist(), matches.rules.tolist(), strict=True)
    return sorted((*mark, *head) for mark, head in zip(marks, matches.heads.tolist(), strict=True))


@pytest.mark.parametrize("structure", Structure)
def test_a_structure_finds_what_the_yield_index_finds(structure):
    draw = random.Random(9)
    ours, other = YieldIndex(Codes()), JoinIndex(Codes(), structure)
    relations = prepared(ours, TEXT)
    assert prepared(other, TEXT) == relations
    script = []
    for _ in range(400):
        number, arity = draw.choice(list(relations.values()))
        script.append((number, tuple(draw.randrange(5) for _ in range(arity)), draw.choice([1, 1, -1])))
    for at in range(0, 400, 100):
        batch = arrivals(script[at : at + 100])
        assert plain(ours.apply(batch)) == plain(other.apply(batch))
    for rule in range(3):
        assert plain(ours.matches(rule)) == plain(other.matches(rule))


def test_the_yield_index_searches_no_more_than_others_and_reads_only_tuples_of_matches():
    draw = random.Random(3)
    indexes = {None: YieldIndex(Codes()), **{one: JoinIndex(Codes(), one) for one in Structure}}
    found = {}
    for name, index in indexes.items():
        relations = prepared(index, UC)
        draw.seed(3)
        script = [
            (number, (draw.randrange(40), draw.randrange(40)), 1)
            for number, _ in relations.values()
            for _ in range(100)
        ]
        found[name] = len(index.apply(arrivals(script))), index.accesses()
    matches, ours = found.pop(None)
    assert ours.tuples == 2 * matches > 0
    for structure, (count, accesses) in found.items():
        assert count == matches
        assert accesses.tuples > ours.tuples
        if structure in (Structure.ALL_COLUMNS, Structure.FILTERS, Structure.ORDERED):
            assert accesses.searches >= ours.searches
