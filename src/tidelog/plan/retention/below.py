"""What derived relations are made of: takes strata, returns for each of their relations those that it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from tidelog.analysis.checked import Stratum
from tidelog.analysis.traversal import all_literals
from tidelog.language.syntax_tree import Atom, Negation

Below: TypeAlias = Mapping[str, frozenset[str]]

NOTHING: Below = MappingProxyType({})


def below(strata: Sequence[Stratum]) -> Below:
    """For each derived relation all relations, derived and not, that its facts follow from."""
    found: dict[str, frozenset[str]] = {}
    for stratum in strata:
        literals = [literal for rule in stratum.rules for literal in all_literals(rule.body)]
        atoms = [literal.atom if isinstance(literal, Negation) else literal for literal in literals]
        read = frozenset(atom.relation for atom in atoms if isinstance(atom, Atom))
        read |= frozenset[str]().union(*(found.get(name, frozenset()) for name in read))
        if read:
            found |= dict.fromkeys(stratum.relations, read)
    return found
