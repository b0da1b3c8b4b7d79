"""What the strategies retain for production rules, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidelog.analysis.checked import CheckedProgram, ProductionRule, SignedHead
from tidelog.language.printer import print_literal
from tidelog.language.syntax_tree import Sign
from tidelog.plan.retention.annotate import Annotation, annotate_program
from tidelog.plan.retention.below import below
from tidelog.plan.retention.differential import differentials
from tidelog.plan.retention.expressions import Occurrence, body_expression
from tidelog.plan.retention.influence import influence_graph, relevant
from tidelog.plan.retention.network import selections


def print_cosma(checked: CheckedProgram) -> Iterator[str]:
    """The influence graph with what priorities take away from it, and the annotation of each rule."""
    influences = [*labelled_influences(checked)]
    yield "influences"
    for one in influences:
        why = "" if one.matters else "  (cannot matter: priorities)"
        yield f"  {one.source.name} {one.label} {one.target.name} {one.target_head}{why}"
    if not influences:
        yield "  none"
    for annotation in annotate_program(checked):
        yield ""
        yield _title(annotation.rule)
        yield f"  what changes under it: {', '.join(map(str, annotation.changes)) or 'nothing'}"
        yield from (f"  {line}" for line in reasons(annotation))


def print_rete(checked: CheckedProgram) -> Iterator[str]:
    """Every join of each rule, from left to right."""
    for rule in checked.productions:
        yield _title(rule)
        for body in rule.bodies:
            occurrences = _positive_first(body_expression(body).occurrences)
            for end in range(2, len(occurrences) + 1):
                yield f"  retains {joined(occurrences[:end])}"
        yield f"  retains the instances: {', '.join(rule.variables) or 'whether the body holds'}"


def print_treat(checked: CheckedProgram) -> Iterator[str]:
    """The instances of each rule, and no join."""
    for rule in checked.productions:
        yield _title(rule)
        yield f"  retains the instances: {', '.join(rule.variables) or 'whether the body holds'}"


def print_atreat(checked: CheckedProgram) -> Iterator[str]:
    """The selections of each rule, which are retained where they leave little, and its other atoms."""
    for rule in checked.productions:
        yield _title(rule)
        for number, body in enumerate(rule.bodies):
            nodes = selections(rule, number)
            for node in nodes:
                yield f"  may retain {', '.join(map(print_literal, node.rule.body))}: {SELECTED}"
            covered = [literal for node in nodes for literal in node.rule.body]
            for occurrence in body_expression(literal for literal in body if literal not in covered).occurrences:
                yield f"  virtual: {occurrence}, looked up in its relation"


SELECTED = "retained if it leaves at most half of the rows when the run begins, else virtual"


@dataclass(frozen=True, slots=True)
class LabelledInfluence:
    """An arc of the influence graph: what the head of a rule does to what another would do by its head."""

    source: ProductionRule
    target: ProductionRule
    label: str
    target_head: str
    matters: bool


def labelled_influences(checked: CheckedProgram) -> Iterator[LabelledInfluence]:
    """The influence graph of a program; what priorities take away from it does not matter."""
    rules = {rule.id: rule for rule in checked.productions}
    graph = influence_graph(checked.productions, below(checked.strata))
    kept = set(relevant(graph, checked.productions))
    for one in graph:
        source, target = rules[one.source], rules[one.target]
        label = f"{_head(source.heads[one.source_head])} {'adds to' if one.adds else 'removes from'}"
        yield LabelledInfluence(source, target, label, _head(target.heads[one.target_head]), one in kept)


def _head(head: SignedHead) -> str:
    return f"{head.sign.value}{head.atom.relation}"


def reasons(annotation: Annotation) -> Iterator[str]:
    """What is retained for an alternative of a rule, and why, or why not."""
    for effect in annotation.effects:
        net = "is not there" if effect.head.sign is Sign.INSERT else "is there"
        row = f"{effect.head.sign.value}{print_literal(effect.head.atom)}"
        if not effect.obstacles:
            yield f"{row}, where that row {net}: follows all changes by itself"
        for who, change in effect.obstacles:
            yield f"{row}, where that row {net}: cannot follow {change} at {who}"
        if effect.is_retained:
            yield "  retained: the rule fires by instances"
    if not annotation.retained:
        yield f"retains no join: {why_not(annotation)}"
        for retained in annotation.profitable:
            yield f"  tried if it costs much without: {joined(retained.producer)}"
    for number, retained in enumerate(annotation.retained, start=1):
        flags = f", with a flag for {joined(retained.filters)}" if retained.filters else ""
        yield f"retains T{number} = {joined(retained.producer)}{flags}"
        yield from (f"  {line}" for line in differentials(f"T{number}", retained, annotation.changes))


def why_not(annotation: Annotation) -> str:
    """Why no join is retained for an alternative of a rule."""
    if annotation.fires_at_most_once:
        return "it fires at most once"
    if any(effect.obstacles for effect in annotation.effects):
        return "no two atoms follow these changes together"
    return "what its heads would do follows by itself"


def _title(rule: ProductionRule) -> str:
    return f"{rule.name}: {' '.join(rule.text.split())}"


def joined(occurrences: Iterable[Occurrence]) -> str:
    """A conjunction."""
    return ", ".join(map(str, occurrences))


def _positive_first(occurrences: tuple[Occurrence, ...]) -> tuple[Occurrence, ...]:
    return tuple(sorted(occurrences, key=lambda each: each.is_negated))
