"""Random programs with random facts: stratified, safe, typed and finite by construction.

`programs(fragment)` gives a `Sample`: the text of a program, kept in pieces so that a test can shuffle its bodies, and
facts for its base relations. Domains are small so that joins hit. Everything is drawn from short lists whose first
entry is the plainest, so that a failing program shrinks to one that can be read.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from fragments import EVERYTHING, VALUES, Fragment, Relation
from rule_strategies import RuleText, rules_for
from tidelog.schema import Kind, Row

FEWEST_ROWS = st.sampled_from([0, 3, 4, 5, 7, 9])


@dataclass(frozen=True)
class Sample:
    """A program in pieces, with facts."""

    relations: tuple[Relation, ...]
    rules: tuple[RuleText, ...]
    facts: dict[str, list[Row]]

    @property
    def text(self) -> str:
        declarations = [relation.declaration for relation in self.relations]
        return "\n".join([*declarations, *(rule.text for rule in self.rules)]) + "\n"

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        """What Hypothesis prints of a failing example: the text as it can be copied into a case."""
        printer.text(f"a sample:\n\n{self.text}\nwith the facts {self.facts}\n")


def shuffled(sample: Sample, randomness: random.Random) -> Sample:
    """The same program with its rules, and the literals of each body, in another order."""
    rules = [
        replace(rule, body=tuple(randomness.sample(rule.body, len(rule.body))))
        for rule in randomness.sample(sample.rules, len(sample.rules))
    ]
    return replace(sample, rules=tuple(rules))


@st.composite
def programs(draw: st.DrawFn, fragment: Fragment = EVERYTHING) -> Sample:
    """A random program of the fragment, with facts for its base relations."""
    base = draw(base_relations(fragment))
    facts = draw(facts_for(base))
    derived = draw(derived_relations(fragment))
    relations = (*base, *derived)
    texts = [text for relation in derived for text in draw(rules_for(relation, relations, fragment))]
    return Sample(relations, tuple(texts), facts)


@st.composite
def base_relations(draw: st.DrawFn, fragment: Fragment) -> tuple[Relation, ...]:
    """One to three relations that only facts fill."""
    signatures = draw(st.lists(signature(fragment, most=4), min_size=1, max_size=3))
    return tuple(Relation(name, kinds, 0) for name, kinds in zip("abc", signatures, strict=False))


@st.composite
def derived_relations(draw: st.DrawFn, fragment: Fragment) -> tuple[Relation, ...]:
    """One to four relations that rules fill, each in the layer of the one before it or in the next."""
    signatures = draw(st.lists(signature(fragment, most=3), min_size=1, max_size=4))
    derived: list[Relation] = []
    for name, kinds in zip("pqrs", signatures, strict=False):
        layer = derived[-1].layer if derived else 1
        inline = fragment.inline and draw(st.integers(0, 7)) == 7
        if inline or (derived and (derived[-1].qualifier or draw(st.booleans()))):
            layer += 1
        derived.append(Relation(name, kinds, layer, "inline" if inline else ""))
    return tuple(derived)


def signature(fragment: Fragment, most: int) -> st.SearchStrategy[tuple[Kind, ...]]:
    """The kinds of up to `most` columns: two as a rule, numbers as a rule."""
    arity = st.sampled_from([2, 1, 2, 2, 3, 3, most])
    kind = st.sampled_from([fragment.kinds[0]] * 3 + list(fragment.kinds))
    return arity.flatmap(lambda columns: st.tuples(*[kind] * columns))


@st.composite
def facts_for(draw: st.DrawFn, relations: Sequence[Relation]) -> dict[str, list[Row]]:
    """Rows for each relation, seldom none, duplicates possible."""
    return {
        relation.name: draw(rows_for(relation, at_least)) for relation in relations for at_least in [draw(FEWEST_ROWS)]
    }


def rows_for(relation: Relation, at_least: int) -> st.SearchStrategy[list[Row]]:
    """Rows of small values."""
    row = st.tuples(*(st.sampled_from(VALUES[kind]) for kind in relation.kinds))
    return st.lists(row, min_size=at_least, max_size=at_least + 3)
