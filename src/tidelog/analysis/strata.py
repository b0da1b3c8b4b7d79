"""The order in which relations are computed. Takes simple rules, returns strata, or the cycles that forbid an order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidelog.analysis.checked import SimpleRule, Stratum
from tidelog.analysis.closures import find_closures
from tidelog.analysis.dependencies import Dependency, Reading, components, dependencies
from tidelog.errors import Diagnostic, Note

Graph = Mapping[str, Sequence[Dependency]]


def stratify(
    rules: Sequence[SimpleRule], relations: Iterable[str], filled_from_outside: frozenset[str]
) -> tuple[tuple[Stratum, ...], list[Diagnostic]]:
    """One stratum for each group of relations that depend on one another, and a diagnostic for each forbidden cycle.

    Relations without rules and facts have no stratum. `filled_from_outside` are those that an `.input` fills.
    """
    graph: dict[str, list[Dependency]] = {name: [] for name in relations}
    for dependency in dependencies(rules):
        graph[dependency.head].append(dependency)
    rules_of: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        rules_of.setdefault(rule.head.relation, []).append(number)
    strata: list[Stratum] = []
    diagnostics: list[Diagnostic] = []
    for component in components({name: [part.relation for part in parts] for name, parts in graph.items()}):
        members = frozenset(component)
        inner = [part for name in component for part in graph[name] if part.relation in members]
        diagnostics += _forbidden_cycles(inner)
        numbers = sorted(number for name in component for number in rules_of.get(name, ()))
        own = tuple(rules[number] for number in numbers)
        if own:
            closures = find_closures(component, own, filled_from_outside) if inner else ()
            strata.append(Stratum(tuple(component), own, bool(inner), closures))
    return tuple(strata), diagnostics


def _forbidden_cycles(inner: Sequence[Dependency]) -> Iterator[Diagnostic]:
    """A diagnostic for each negation or aggregate inside a component that no earlier one has shown already."""
    graph: dict[str, list[Dependency]] = {}
    for dependency in inner:
        graph.setdefault(dependency.head, []).append(dependency)
    shown: set[Dependency] = set()
    for dependency in sorted(inner, key=lambda part: part.span):
        if dependency.reading is Reading.POSITIVE or dependency in shown:
            continue
        cycle = [dependency, *_path(dependency.relation, dependency.head, graph)]
        shown.update(cycle)
        yield _forbidden(dependency, cycle)


def _path(start: str, end: str, graph: Graph) -> list[Dependency]:
    """The shortest way from `start` to `end`."""
    paths: dict[str, list[Dependency]] = {start: []}
    queue = deque([start])
    while end not in paths:
        node = queue.popleft()
        for step in graph.get(node, ()):
            if step.relation not in paths:
                paths[step.relation] = [*paths[node], step]
                queue.append(step.relation)
    return paths[end]


def _forbidden(dependency: Dependency, cycle: Sequence[Dependency]) -> Diagnostic:
    negated = dependency.reading is Reading.NEGATED
    path = " -> ".join([dependency.head, *(_step(step) for step in cycle)])
    return Diagnostic(
        "D501" if negated else "D502",
        f"'{dependency.head}' depends on {'its own negation' if negated else 'an aggregate over itself'}: {path}",
        cycle[0].span,
        "break the cycle: let one of these relations be computed without the others",
        notes=tuple(Note(_reason(step), step.span) for step in cycle) if len(cycle) > 1 else (),
    )


def _step(step: Dependency) -> str:
    match step.reading:
        case Reading.NEGATED:
            return f"!{step.relation}"
        case Reading.AGGREGATED:
            return f"{{{step.relation}}}"
        case Reading.POSITIVE:
            return step.relation


def _reason(step: Dependency) -> str:
    how = {Reading.NEGATED: " negated", Reading.AGGREGATED: " inside an aggregate", Reading.POSITIVE: ""}
    return f"a rule for '{step.head}' reads '{step.relation}'{how[step.reading]} here"
