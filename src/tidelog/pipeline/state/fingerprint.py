"""Which program a state belongs to."""

from __future__ import annotations

import hashlib

from tidelog.analysis.checked import CheckedProgram
from tidelog.language.printer import print_item
from tidelog.language.syntax_tree import Item, Rule, TypeDeclaration

FORMAT = "tidelog program 1"


def fingerprint(checked: CheckedProgram) -> str:
    """A name for what `checked` computes: 64 letters that stay the same over formatting, comments, the order of items,
    inputs and outputs, pragmas and plan hints; they change with schemas, rules, facts of the text and size limits, and
    with the order of production rules and the way they fire."""
    schemas = [f"{relation}{_columns(checked, relation)}" for relation in checked.schemas]
    qualified = [f"{item.name} {' '.join(sorted(item.qualifiers))}" for item in checked.program.relations]
    rules = [_meaning(item) for item in checked.program.items if isinstance(item, Rule | TypeDeclaration)]
    limits = [f"{relation} <= {most}" for relation, most in checked.size_limits.items()]
    lines = [FORMAT, *sorted(schemas), *sorted(qualified), *sorted(set(rules)), *sorted(limits)]
    if checked.semantics is not None:
        lines.append(print_item(checked.semantics))
        lines += [_meaning(rule) for rule in checked.program.rules if rule.signs]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _columns(checked: CheckedProgram, relation: str) -> str:
    attributes = checked.schemas[relation].attributes
    return (
        "("
        + ", ".join(f"{attribute.name}: {attribute.type} = {attribute.kind.value}" for attribute in attributes)
        + ")"
    )


def _meaning(item: Item) -> str:
    """The text of an item without hints on how to run it."""
    match item:
        case Rule(heads, body):
            return print_item(Rule(heads, body, signs=item.signs, precedence=item.precedence))
        case _:
            return print_item(item)
