"""Intermediate relations that are never stored: each is put in where it is read, so that its rows go straight there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.codegen.application_graph import asked_relations, input_relations
from tidelog.codegen.graph_rules import GraphProgram, graph_program
from tidelog.codegen.storage import choose_storage, drops_column, is_recursive
from tidelog.language.syntax_tree import Item, RelationDeclaration
from tidelog.plan.walk import scans_of

INLINE = "inline"


def without_intermediates(checked: CheckedProgram) -> CheckedProgram:
    """`checked` with those relations inline that need no check for duplicates and are read in one place only.

    What is asked for stays as it is: the relations of `.output` and `.printsize`, all where there are none.
    """
    if checked.productions:
        return checked
    pushed = pushed_relations(checked)
    if not pushed:
        return checked
    return check(replace(checked.program, items=tuple(_inline(item, pushed) for item in checked.program.items)))


def pushed_relations(checked: CheckedProgram) -> frozenset[str]:
    """The relations that are not stored: one rule derives each, no row twice, and one rule reads it, once."""
    outside = input_relations(checked)
    program = graph_program(checked, outside)
    storage = choose_storage(program, asked_relations(checked))
    rules = Counter(rule.plan.head for rule in program.rules)
    reads = Counter(scan.relation for rule in program.rules for scan in scans_of(rule.plan.node))
    giving_twice = {rule.plan.head for rule in program.rules if drops_column(rule)}
    plain = {item.name for item in checked.program.relations if not item.qualifiers}
    return frozenset(
        relation
        for relation in storage.phases.keys() & plain - outside - giving_twice
        if rules[relation] == reads[relation] == 1 and not _is_in_recursion(relation, program)
    )


def _is_in_recursion(relation: str, program: GraphProgram) -> bool:
    """Whether it is part of a recursion, or its reader is: there it would be derived in each round."""
    readers = [rule for rule in program.rules if any(scan.relation == relation for scan in scans_of(rule.plan.node))]
    return is_recursive(relation, program) or any(is_recursive(rule.plan.head, program) for rule in readers)


def _inline(item: Item, pushed: frozenset[str]) -> Item:
    if isinstance(item, RelationDeclaration) and item.name in pushed:
        return replace(item, qualifiers=(*item.qualifiers, INLINE))
    return item
