"""What is allowed but probably not meant. Takes a program without errors, yields warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from tidelog.analysis.checked import SimpleRule, Stratum
from tidelog.analysis.names import Names
from tidelog.analysis.traversal import all_literals, all_names, all_terms, own_names, written
from tidelog.errors import Diagnostic, Note, Severity
from tidelog.language.syntax_tree import (
    Atom,
    Call,
    Comparison,
    ComparisonOperator,
    Directive,
    DirectiveKind,
    Literal,
    Negation,
    Rule,
    Sign,
    Term,
    Test,
    Variable,
)
from tidelog.schema import Kind

GROWING = frozenset({"+", "-", "*", "^", "cat"})
"""Functions that make ever new values of old ones."""


def find_warnings(
    names: Names, apart: Sequence[Rule], directives: Sequence[Directive], strata: Sequence[Stratum]
) -> Iterator[Diagnostic]:
    """Every warning about a program. `apart` are its rules with the locals of aggregates named apart."""
    for rule in apart:
        if rule.body:
            yield from _lonely_variables(rule)
    yield from _unused_relations(names, directives)
    yield from _empty_relations(names, directives, strata)
    limited = {
        name for directive in directives if directive.kind is DirectiveKind.LIMITSIZE for name in directive.relations
    }
    for stratum in strata:
        if stratum.recursive and not limited.intersection(stratum.relations):
            yield from _endless_recursion(stratum)


def _warning(code: str, message: str, place: Term | Literal | Rule, hint: str, *notes: Note) -> Diagnostic:
    return Diagnostic(code, message, place.span, hint, Severity.WARNING, notes)


def _lonely_variables(rule: Rule) -> Iterator[Diagnostic]:
    variables = [term for term in all_terms((*rule.heads, *rule.body)) if isinstance(term, Variable)]
    times = Counter(variable.name for variable in variables)
    for variable in variables:
        name = written(variable.name)
        if times[variable.name] == 1 and not name.startswith("_"):
            yield _warning(
                "D604",
                f"variable '{name}' occurs only once",
                variable,
                f"write '_' if any value will do, or '_{name}' to keep the name",
            )


def _unused_relations(names: Names, directives: Sequence[Directive]) -> Iterator[Diagnostic]:
    used = {name for directive in directives for name in directive.relations}
    for rule in names.rules:
        used.update(head.relation for head in rule.heads)
        used.update(atom.relation for atom in _atoms_read(rule.body))
    for name, relation in names.declarations.items():
        if name not in used:
            yield Diagnostic(
                "D601",
                f"relation '{name}' is declared but never used",
                relation.span,
                "remove the declaration, or use the relation",
                Severity.WARNING,
            )


def _atoms_read(body: Iterable[Literal]) -> Iterator[Atom]:
    for literal in all_literals(body):
        match literal:
            case Atom():
                yield literal
            case Negation(atom=atom):
                yield atom


def _empty_relations(names: Names, directives: Sequence[Directive], strata: Sequence[Stratum]) -> Iterator[Diagnostic]:
    """Warnings about relations that are read and can never hold a row, and about the rules that cannot fire for it."""
    inputs = {name for directive in directives if directive.kind is DirectiveKind.INPUT for name in directive.relations}
    defined = {head.relation for rule in names.rules for head in rule.heads}
    undefined = names.declarations.keys() - inputs - defined
    reported: set[str] = set()
    for rule in names.rules:
        for atom in _atoms_read(rule.body):
            if atom.relation in undefined and atom.relation not in reported:
                reported.add(atom.relation)
                yield _warning(
                    "D602",
                    f"relation '{atom.relation}' can never hold a row: it has no rule, no fact and no .input",
                    atom,
                    f"add '.input {atom.relation}', or insert rows from Python",
                    Note("declared here", names.declarations[atom.relation].span),
                )
    inserted = {
        head.relation
        for rule in names.rules
        for sign, head in zip(rule.signs, rule.heads, strict=False)
        if sign is Sign.INSERT
    }
    yield from _rules_that_never_fire(_possibly_filled(inputs | inserted, strata), strata)


def _possibly_filled(inputs: set[str], strata: Sequence[Stratum]) -> set[str]:
    """The relations that may hold a row, found like the rows themselves: from below until nothing is new."""
    filled = set(inputs)
    for stratum in strata:
        growing = True
        while growing:
            size = len(filled)
            filled.update(rule.head.relation for rule in stratum.rules if _never_filled(rule, filled) is None)
            growing = len(filled) > size
    return filled


def _never_filled(rule: SimpleRule, filled: set[str]) -> Atom | None:
    """The first positive atom of the rule over a relation that is not in `filled`."""
    return next(
        (literal for literal in rule.body if isinstance(literal, Atom) and literal.relation not in filled), None
    )


def _rules_that_never_fire(filled: set[str], strata: Sequence[Stratum]) -> Iterator[Diagnostic]:
    by_user = [rule for stratum in strata for rule in stratum.rules if rule.body and rule.id > 0]
    for _, group in groupby(sorted(by_user, key=lambda rule: rule.id), key=lambda rule: rule.id):
        # A rule with alternatives or several heads fires when one of its simple rules does.
        blocked = [(rule, _never_filled(rule, filled)) for rule in group]
        if all(atom is not None for _, atom in blocked):
            rule, atom = blocked[0]
            assert atom is not None
            yield Diagnostic(
                "D603",
                f"this rule can never fire: '{atom.relation}' holds no row",
                rule.head.span,
                f"give '{atom.relation}' rows, or remove the rule",
                Severity.WARNING,
            )


def _endless_recursion(stratum: Stratum) -> Iterator[Diagnostic]:
    """A warning for each recursive rule that computes new values from its own without a bound on them."""
    for rule in stratum.rules:
        recursive = [
            literal for literal in rule.body if isinstance(literal, Atom) and literal.relation in stratum.relations
        ]
        if not recursive:
            continue
        values = _values(rule.body)
        for term in rule.head.arguments:
            chain = _computed_from(term, values)
            grown = [part for part in all_terms(chain) if isinstance(part, Call) and part.function in GROWING]
            touched = all_names((term, *chain))
            if grown and touched & own_names(recursive) and not _is_bounded(rule.body, touched, recursive, values):
                yield _warning(
                    "D605",
                    f"this recursion computes a new value for '{rule.head.relation}' each time and may never end",
                    grown[0],
                    f"bound the value, for example with '{_bound_for(term, grown[0])}' in the body",
                )
                break


def _values(body: Sequence[Literal]) -> Mapping[str, tuple[Term, Literal]]:
    """For each variable that an equation gives a value: the value and the equation."""
    values: dict[str, tuple[Term, Literal]] = {}
    for literal in body:
        match literal:
            case Comparison(ComparisonOperator.EQUAL, Variable(name), value) if not isinstance(value, Variable):
                values.setdefault(name, (value, literal))
            case Comparison(ComparisonOperator.EQUAL, value, Variable(name)) if not isinstance(value, Variable):
                values.setdefault(name, (value, literal))
    return values


def _computed_from(term: Term, values: Mapping[str, tuple[Term, Literal]]) -> tuple[Term, ...]:
    """`term` and the values of the variables in it, and of those in them."""
    chain = [term]
    seen: set[str] = set()
    for part in chain:
        for name in sorted(own_names((part,)) - seen):
            seen.add(name)
            if name in values:
                chain.append(values[name][0])
    return tuple(chain)


def _is_bounded(
    body: Sequence[Literal],
    touched: frozenset[str],
    recursive: Sequence[Atom],
    values: Mapping[str, tuple[Term, Literal]],
) -> bool:
    """Whether a literal other than the recursive atoms and the computation itself says something about the values."""
    computing = [literal for _, literal in values.values()]
    computed = touched & values.keys()
    looked_up = own_names(recursive) & touched
    for literal in body:
        if literal in recursive or any(literal is part for part in computing):
            continue
        match literal:
            case Atom() if own_names((literal,)) & (computed | looked_up):
                return True
            case Comparison() | Test() if own_names((literal,)) & touched:
                return True
    return False


def _bound_for(term: Term, grown: Call) -> str:
    name = written(term.name) if isinstance(term, Variable) else "x"
    return f"strlen({name}) < 1000" if grown.kind is Kind.SYMBOL else f"{name} < 1000"
