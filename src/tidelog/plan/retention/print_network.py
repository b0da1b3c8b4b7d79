"""What the strategies retain for production rules, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.analysis.checked import CheckedProgram, ProductionRule, SignedHead
from tidelog.language.printer import print_literal
from tidelog.language.syntax_tree import Semantics, Sign
from tidelog.plan.retention.annotate import Annotation, annotate
from tidelog.plan.retention.differential import differentials
from tidelog.plan.retention.expressions import Occurrence, body_expression
from tidelog.plan.retention.influence import Influence, influence_graph, relevant


def print_cosma(checked: CheckedProgram) -> Iterator[str]:
    """The influence graph with what priorities take away from it, and the annotation of each rule."""
    rules = checked.productions
    graph = influence_graph(rules)
    kept = set(relevant(graph, rules))
    yield "influences"
    names = {rule.id: rule for rule in rules}
    for one in graph:
        yield f"  {_influence(one, names)}{'' if one in kept else '  (cannot matter: priorities)'}"
    if not graph:
        yield "  none"
    for annotation in annotate(rules, _semantics(checked)):
        yield ""
        yield from _annotation(annotation)


def print_rete(checked: CheckedProgram) -> Iterator[str]:
    """Every join of each rule, from left to right."""
    for rule in checked.productions:
        yield _title(rule)
        for body in rule.bodies:
            occurrences = _positive_first(body_expression(body).occurrences)
            for end in range(2, len(occurrences) + 1):
                yield f"  retains {_joined(occurrences[:end])}"
        yield f"  retains the instances: {', '.join(rule.variables) or 'whether the body holds'}"


def print_treat(checked: CheckedProgram) -> Iterator[str]:
    """The instances of each rule, and no join."""
    for rule in checked.productions:
        yield _title(rule)
        yield f"  retains the instances: {', '.join(rule.variables) or 'whether the body holds'}"


def _semantics(checked: CheckedProgram) -> Semantics:
    assert checked.semantics is not None
    return checked.semantics.semantics


def _influence(one: Influence, rules: dict[int, ProductionRule]) -> str:
    source, target = rules[one.source], rules[one.target]
    verb = "adds to" if one.adds else "removes from"
    mine, theirs = _head(source.heads[one.source_head]), _head(target.heads[one.target_head])
    return f"{source.name} {mine} {verb} {target.name} {theirs}"


def _head(head: SignedHead) -> str:
    return f"{head.sign.value}{head.atom.relation}"


def _annotation(annotation: Annotation) -> Iterator[str]:
    yield _title(annotation.rule)
    changes = ", ".join(map(str, annotation.changes))
    yield f"  what changes under it: {changes or 'nothing'}"
    for effect in annotation.effects:
        net = "is not there" if effect.head.sign is Sign.INSERT else "is there"
        row = f"{effect.head.sign.value}{print_literal(effect.head.atom)}"
        if not effect.obstacles:
            yield f"  {row}, where that row {net}: follows all changes by itself"
        for who, change in effect.obstacles:
            yield f"  {row}, where that row {net}: cannot follow {change} at {who}"
        if effect.is_retained:
            yield "    retained: the rule fires by instances"
    if annotation.fires_at_most_once:
        yield "  retains no join: it fires at most once"
    elif not annotation.retained:
        yield "  retains no join: " + (
            "no two atoms follow these changes together"
            if any(effect.obstacles for effect in annotation.effects)
            else "what its heads would do follows by itself"
        )
    for number, retained in enumerate(annotation.retained, start=1):
        flags = f", with a flag for {_joined(retained.filters)}" if retained.filters else ""
        yield f"  retains T{number} = {_joined(retained.producer)}{flags}"
        yield from (f"    {line}" for line in differentials(f"T{number}", retained, annotation.changes))


def _title(rule: ProductionRule) -> str:
    return f"{rule.name}: {' '.join(rule.text.split())}"


def _joined(occurrences: Iterable[Occurrence]) -> str:
    return ", ".join(map(str, occurrences))


def _positive_first(occurrences: tuple[Occurrence, ...]) -> tuple[Occurrence, ...]:
    return tuple(sorted(occurrences, key=lambda each: each.is_negated))
