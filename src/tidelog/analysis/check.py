"""The check of a whole program: names, types, safety and strata, with every mistake in one report."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import cast

from tidelog.analysis.checked import CheckedProgram
from tidelog.analysis.equivalences import equivalence_rules
from tidelog.analysis.kinds import TypedRule, fit_constant, infer_kinds
from tidelog.analysis.names import Names, check_names
from tidelog.analysis.normalize import normalize
from tidelog.analysis.production import check_production, production_rules
from tidelog.analysis.scopes import as_written, name_apart
from tidelog.analysis.strata import stratify
from tidelog.analysis.subtypes import check_subtypes
from tidelog.analysis.types import TypeTable, resolve_types
from tidelog.analysis.warnings import find_warnings
from tidelog.errors import Diagnostic, ProgramError
from tidelog.language.syntax_tree import Atom, Constant, Directive, DirectiveKind, Item, Program, Rule, Term
from tidelog.schema import Kind


def check(program: Program) -> CheckedProgram:
    """`program` in the form that plans are made from; raises ProgramError with every mistake found in it."""
    with _collector_paused():
        return _check(program)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: a program with many facts makes many nodes, and all of them stay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _check(program: Program) -> CheckedProgram:
    program = _with_rule_ids(program)
    types, type_mistakes = resolve_types(program.types)
    names, name_mistakes = check_names(program, types)
    typed, kind_mistakes = _check_kinds(names, types)
    pairs = list(zip(names.rules, typed, strict=True))
    simple, safety_mistakes = normalize(pairs, names.schemas, names.inlined)
    productions = production_rules(names.rules, simple)
    acting = {rule.id for rule in names.rules if rule.signs}
    simple = [rule for rule in simple if rule.id not in acting]
    simple += equivalence_rules(names.declarations.values(), names.schemas)
    directives = tuple(program.directives)
    inputs = frozenset(name for part in directives if part.kind is DirectiveKind.INPUT for name in part.relations)
    strata, cycles = stratify(simple, names.schemas, inputs)
    misuses = check_production(program, names.declarations)
    mistakes = _once([*type_mistakes, *name_mistakes, *kind_mistakes, *safety_mistakes, *cycles, *misuses])
    if mistakes:
        raise ProgramError(mistakes, dict(program.texts))
    warnings = find_warnings(names, [part.rule for part in typed], directives, strata)
    return CheckedProgram(
        program=replace(program, items=tuple(_items(program, typed))),
        schemas=names.schemas,
        strata=strata,
        inputs=_of_kind(directives, DirectiveKind.INPUT),
        outputs=_of_kind(directives, DirectiveKind.OUTPUT, DirectiveKind.PRINTSIZE),
        size_limits=_size_limits(directives),
        pragmas=tuple(program.pragmas),
        warnings=tuple(sorted(_once(warnings), key=lambda finding: finding.span)),
        productions=productions,
        semantics=next(program.productions, None),
        inlined=names.inlined,
    )


def _with_rule_ids(program: Program) -> Program:
    """`program` with its rules counted from 1, unless the parser has done so."""
    if all(rule.id for rule in program.rules):
        return program
    numbers = count(1)
    items = (replace(item, id=next(numbers)) if isinstance(item, Rule) else item for item in program.items)
    return replace(program, items=tuple(items))


def _check_kinds(names: Names, types: TypeTable) -> tuple[list[TypedRule], list[Diagnostic]]:
    """Every rule with kinds filled in and locals of aggregates named apart, and what does not fit."""
    kinds = {name: schema.kinds for name, schema in names.schemas.items()}
    has_own_types = len(types.kinds) > 4
    typed: list[TypedRule] = []
    diagnostics: list[Diagnostic] = []
    for rule in names.rules:
        fact = None if rule.body else _typed_fact(rule, kinds)
        if fact is not None:
            typed.append(fact)
            continue
        found, mistakes = infer_kinds(name_apart(rule), names.schemas, types.kinds)
        if not mistakes and has_own_types:
            mistakes = list(check_subtypes(found.rule, names.schemas, types))
        diagnostics += mistakes
        typed.append(found)
    return typed, diagnostics


def _typed_fact(rule: Rule, kinds: Mapping[str, tuple[Kind, ...]]) -> TypedRule | None:
    """A fact of fitting constants with kinds filled in; None leaves the rule to the inference."""
    if len(rule.heads) != 1 or rule.signs:
        return None
    head = rule.heads[0]
    arguments = tuple(map(_fitted, head.arguments, kinds[head.relation]))
    if None in arguments:
        return None
    fitted = Atom(head.relation, cast(tuple[Term, ...], arguments), head.span)
    return TypedRule(Rule((fitted,), (), rule.plan, rule.span, rule.id), {})


def _fitted(term: Term, kind: Kind) -> Constant | None:
    """A constant as a value of `kind`; None for what is no constant or does not fit."""
    if type(term) is not Constant:
        return None
    if term.spelled is kind and kind is not Kind.UNSIGNED:
        return Constant(term.value, kind, term.span, kind)
    if term.spelled not in (None, kind) or kind is Kind.SYMBOL:
        return None
    constant, problem = fit_constant(term, kind)
    return None if problem else constant


def _once(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics without repetitions: one literal may stand in several simple rules."""
    seen = {(finding.code, finding.span, finding.message): finding for finding in reversed(list(diagnostics))}
    return list(reversed(seen.values()))


def _items(program: Program, typed: Sequence[TypedRule]) -> Iterator[Item]:
    rules = iter(typed)
    for item in program.items:
        yield as_written(next(rules).rule) if isinstance(item, Rule) else item


def _of_kind(directives: Sequence[Directive], *kinds: DirectiveKind) -> tuple[Directive, ...]:
    return tuple(directive for directive in directives if directive.kind in kinds)


def _size_limits(directives: Sequence[Directive]) -> dict[str, int]:
    """The least limit given for each relation."""
    limits: dict[str, int] = {}
    for directive in _of_kind(directives, DirectiveKind.LIMITSIZE):
        limit = int(directive.parameter("n"))
        for relation in directive.relations:
            limits[relation] = min(limit, limits.get(relation, limit))
    return limits
