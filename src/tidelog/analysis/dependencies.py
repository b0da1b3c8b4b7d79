"""Which relation needs which. Takes simple rules, returns a graph and its strongly connected components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tidelog.analysis.checked import SimpleRule
from tidelog.analysis.traversal import all_literals, flat_literals, own_terms
from tidelog.language.syntax_tree import Aggregate, Atom, Negation
from tidelog.span import Span


class Reading(Enum):
    """How a rule reads a relation."""

    POSITIVE = "positive"
    NEGATED = "negated"
    AGGREGATED = "aggregated"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A rule for `head` reads `relation` at `span`."""

    head: str
    relation: str
    reading: Reading
    span: Span


def dependencies(rules: Iterable[SimpleRule]) -> Iterator[Dependency]:
    """Every reading of a relation, in the order of the rules and of their literals."""
    for rule in rules:
        head = rule.head.relation
        for literal in flat_literals(rule.body):
            match literal:
                case Atom(relation=relation, span=span):
                    yield Dependency(head, relation, Reading.POSITIVE, span)
                case Negation(atom=Atom(relation=relation), span=span):
                    yield Dependency(head, relation, Reading.NEGATED, span)
            for term in own_terms((literal,)):
                if isinstance(term, Aggregate):
                    for inner in all_literals(term.body):
                        match inner:
                            case Atom(relation=relation, span=span) | Negation(atom=Atom(relation=relation), span=span):
                                yield Dependency(head, relation, Reading.AGGREGATED, span)


def components(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected components of `graph`, each after those it leads to (Tarjan, without recursion).

    The order is fixed by the order of the nodes and their successors; a component lists its nodes in graph order.
    """
    position = {name: number for number, name in enumerate(graph)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for start in graph:
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, successors = work[-1]
            following = next(successors, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node)
                    component = stack[cut:]
                    del stack[cut:]
                    on_stack.difference_update(component)
                    found.append(sorted(component, key=position.__getitem__))
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(graph[following])))
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return found
