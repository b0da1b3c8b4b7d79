"""Explicit facts apart from rules: takes a program and changes, returns what the oracle says after each of them.

Facts in the text of a program are explicit facts given at the start. They can be retracted, and a relation with rules
may have explicit facts too, so what is true after a change is what the rules give for the explicit facts of then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from answers import Answer, Rows, by_oracle, stored_relations
from oracle import World, consequences, stored
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import Item, RelationDeclaration, Rule, TypeDeclaration
from tidelog.schema import Row

Explicit = Mapping[str, frozenset[Row]]


@dataclass(frozen=True)
class Step:
    """One change: explicit facts to insert and to retract. A fact in both is inserted."""

    insert: Mapping[str, list[Row]] = field(default_factory=dict)
    retract: Mapping[str, list[Row]] = field(default_factory=dict)

    def after(self, explicit: Explicit, checked: CheckedProgram) -> Explicit:
        """The explicit facts once this change is applied to `explicit`."""

        def rows(side: Mapping[str, list[Row]], name: str) -> frozenset[Row]:
            return frozenset(stored(row, checked.schemas[name]) for row in side.get(name, ()))

        return {name: (known - rows(self.retract, name)) | rows(self.insert, name) for name, known in explicit.items()}

    def __str__(self) -> str:
        lines = [fact_text("+", name, row) for name, rows in self.insert.items() for row in rows]
        lines += [fact_text("-", name, row) for name, rows in self.retract.items() for row in rows]
        return "\n".join(lines)


def explicit_start(checked: CheckedProgram, facts: Mapping[str, Iterable[Row]]) -> Explicit:
    """The explicit facts of the text of a program and of `facts`, by relation."""
    known: Rows = {name: set() for name in stored_relations(checked.program)}
    for rule in filter(_is_fact, checked.program.rules):
        for head in rule.heads:
            if head.relation in known:
                schema = checked.schemas[head.relation]
                known[head.relation].update(stored(row, schema) for row in consequences(head, rule, World({})))
    for name, rows in facts.items():
        known[name].update(stored(row, checked.schemas[name]) for row in rows)
    return {name: frozenset(rows) for name, rows in known.items()}


def rules_alone(checked: CheckedProgram) -> CheckedProgram:
    """The program without the facts of its text; those of inline relations stay, for nothing stores them."""
    stored_names = set(stored_relations(checked.program))
    items: list[Item] = []
    for item in checked.program.items:
        if isinstance(item, Rule) and not item.body:
            heads = tuple(head for head in item.heads if head.relation not in stored_names)
            items += [replace(item, heads=heads)] if heads else []
        else:
            items.append(item)
    return replace(checked, program=replace(checked.program, items=tuple(items)))


def answer_after(checked: CheckedProgram, explicit: Explicit) -> Answer:
    """What the oracle says when `explicit` are all explicit facts there are."""
    return by_oracle(rules_alone(checked), explicit)


def explicit_after(checked: CheckedProgram, explicit: Explicit, steps: Iterable[Step]) -> Explicit:
    """The explicit facts once all `steps` are applied to `explicit`."""
    return reduce(lambda known, step: step.after(known, checked), steps, explicit)


def read_step(text: str, checked: CheckedProgram) -> Step:
    """The change that lines such as `+edge(1,2).` and `-edge(2,3).` ask for."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("//")]
    assert all(line[0] in "+-" for line in lines), text

    def facts(sign: str) -> dict[str, list[Row]]:
        written = parse("\n".join(line[1:] for line in lines if line.startswith(sign)))
        declared = [item for item in checked.program.items if isinstance(item, RelationDeclaration | TypeDeclaration)]
        facts_alone = check(replace(checked.program, items=(*declared, *written.items)))
        return {name: sorted(rows) for name, rows in explicit_start(facts_alone, {}).items() if rows}

    return Step(insert=facts("+"), retract=facts("-"))


def fact_text(sign: str, relation: str, row: Row) -> str:
    """A fact with its sign, as a line of a change file."""
    values = (f'"{value}"' if isinstance(value, str) else str(value) for value in row)
    return f"{sign}{relation}({','.join(values)})."


def _is_fact(rule: Rule) -> bool:
    return not rule.body
