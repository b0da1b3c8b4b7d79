"""Takes a checked program, returns the part of it that production rules need while they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from tidelog.analysis.checked import CheckedProgram, Stratum
from tidelog.analysis.traversal import all_literals
from tidelog.language.syntax_tree import Atom, Literal, Negation
from tidelog.plan.planned import PROGRAMS_KEPT
from tidelog.plan.same import Same


def supporting(checked: CheckedProgram) -> CheckedProgram:
    """The ordinary rules that production rules depend on, without facts of the text: all facts are given."""
    needed = {name for rule in checked.productions for body in rule.bodies for name in relations_in(body)}
    kept: list[Stratum] = []
    for stratum in reversed(checked.strata):
        rules = tuple(rule for rule in stratum.rules if rule.body)
        if rules and needed.intersection(stratum.relations):
            kept.append(replace(stratum, rules=rules))
            needed.update(name for rule in rules for name in relations_in(rule.body))
    return replace(checked, strata=tuple(reversed(kept)))


def relations_needed(checked: CheckedProgram) -> frozenset[str]:
    """The relations whose facts a run of the production rules reads or changes; for the last few programs they are
    looked for only once."""
    return _relations_needed(Same(checked))


@lru_cache(PROGRAMS_KEPT)
def _relations_needed(program: Same[CheckedProgram]) -> frozenset[str]:
    checked = program.thing
    strata = supporting(checked).strata
    bodies = [*(body for rule in checked.productions for body in rule.bodies)]
    bodies += [rule.body for stratum in strata for rule in stratum.rules]
    acted_on = {head.atom.relation for rule in checked.productions for head in rule.heads}
    return frozenset({name for body in bodies for name in relations_in(body)} | acted_on)


def relations_in(body: Iterable[Literal]) -> Iterator[str]:
    """The relations that a body reads, those in aggregates too."""
    for literal in all_literals(body):
        match literal:
            case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
                yield relation
