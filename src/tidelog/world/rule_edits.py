"""Takes a checked program and the text of rules, returns the program with them or without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

import pyarrow as pa

from tidelog.analysis.checked import CheckedProgram
from tidelog.checking import check_program
from tidelog.connectors.python_rows import table_of_rows
from tidelog.errors import UsageError
from tidelog.language.parser import parse
from tidelog.language.printer import print_item, print_rule
from tidelog.language.syntax_tree import Item, Program, Rule
from tidelog.plan.lower import fact_of
from tidelog.schema import Row

ADDED = "<rules "


def with_rules(checked: CheckedProgram, rules: str | Program, ids: Iterator[int]) -> CheckedProgram:
    """The program with the items of `rules` behind its own, its rules with new ids; ProgramError when it is wrong."""
    program = _parsed(rules, checked)
    items = tuple(replace(item, id=next(ids)) if isinstance(item, Rule) else item for item in program.items)
    return check_program(_extended(checked.program, items, program.texts))


def without_rules(checked: CheckedProgram, rules: str | Program) -> CheckedProgram:
    """The program without each of `rules`; UsageError names the nearest where one is not there.

    Rules are compared as printed once checked: layout and spellings of numbers do not matter, names of variables do.
    """
    program = _parsed(rules, checked)
    for item in program.items:
        _check_is_rule(item)
    first_new = 1 + max((rule.id for rule in checked.program.rules), default=0)
    asked = {first_new + at: rule for at, rule in enumerate(program.rules)}
    nameless = tuple(replace(rule, id=id, precedence=None) for id, rule in asked.items())  # a name is for one rule
    both = check_program(_extended(checked.program, nameless, program.texts)).program
    there = [rule for rule in both.rules if rule.id < first_new and (rule.body or rule.signs)]
    wanted = [replace(rule, precedence=asked[rule.id].precedence) for rule in both.rules if rule.id >= first_new]
    gone = {id for rule in wanted for id in _same(rule, there)}
    items = tuple(item for item in checked.program.items if not isinstance(item, Rule) or item.id not in gone)
    return check_program(replace(checked.program, items=items))


def facts_added(before: CheckedProgram, after: CheckedProgram) -> dict[str, pa.Table]:
    """The facts in the text of `after` that are not in the text of `before`, by relation."""
    known = {rule.id for rule in before.program.rules}
    rows: dict[str, list[Row]] = {}
    for stratum in after.strata:
        for rule in stratum.rules:
            row = None if rule.id in known else fact_of(rule)
            if row is not None:
                rows.setdefault(rule.head.relation, []).append(row)
    return {relation: table_of_rows(found, after.schemas[relation]) for relation, found in rows.items()}


def _parsed(rules: str | Program, checked: CheckedProgram) -> Program:
    match rules:
        case Program():
            return rules
        case str():
            number = 1 + sum(file.startswith(ADDED) for file in checked.texts)
            return parse(rules, file=f"{ADDED}{number}>")
        case _:
            raise UsageError(f"expected rules or their text, found {type(rules).__name__}")


def _extended(program: Program, items: tuple[Item, ...], texts: tuple[tuple[str, str], ...]) -> Program:
    return Program((*program.items, *items), (*program.texts, *texts))


def _check_is_rule(item: Item) -> None:
    if not isinstance(item, Rule):
        raise UsageError(f"only rules can be removed, this is none: {print_item(item)}")
    if not item.body and not item.signs:
        relation = item.heads[0].relation
        raise UsageError(f"{print_rule(item)} is a fact: take it back with retract({relation!r}, …)")


def _same(asked: Rule, rules: list[Rule]) -> list[int]:
    """The ids of the rules that say the same as `asked`."""
    text = _text(asked)
    found = [rule.id for rule in rules if _text(rule) == text]
    if found:
        return found
    by_text = {_text(rule): rule for rule in rules}
    near = get_close_matches(text, by_text, n=3, cutoff=0.5)
    hint = "".join(f"\n  there is: {one} ({by_text[one].span})" for one in near)
    raise UsageError(f"there is no rule {text}{hint}")


def _text(rule: Rule) -> str:
    return print_rule(replace(rule, plan=None))
