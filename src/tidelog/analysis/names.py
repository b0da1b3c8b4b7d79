"""Whether every name of a program stands for something. Takes a program, returns its declarations and sound rules.

A rule with a mistake in its names is reported and left out of all later checks, so that one mistake gives one report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.analysis.equivalences import check_equivalence
from tidelog.analysis.traversal import all_literals, all_terms, flat_literals
from tidelog.analysis.types import TypeTable
from tidelog.errors import Diagnostic, Note
from tidelog.language.functions import FUNCTIONS, TESTS, Notation
from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Directive,
    DirectiveKind,
    Literal,
    Negation,
    Program,
    RelationDeclaration,
    Rule,
    Term,
    Test,
    Variable,
    Wildcard,
)
from tidelog.language.words import QUALIFIERS, nearest
from tidelog.schema import Attribute, Schema
from tidelog.span import Span


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of a program stand for. `rules` are those without a mistake, over relations without one."""

    declarations: Mapping[str, RelationDeclaration]
    schemas: Mapping[str, Schema]
    rules: tuple[Rule, ...]

    @property
    def inlined(self) -> frozenset[str]:
        return frozenset(name for name, relation in self.declarations.items() if "inline" in relation.qualifiers)


def check_names(program: Program, types: TypeTable) -> tuple[Names, list[Diagnostic]]:
    """The declarations and the sound rules of `program`, and a diagnostic for each mistake."""
    declarations, diagnostics = _declarations(program.relations)
    schemas: dict[str, Schema] = {}
    for relation in declarations.values():
        mistakes = list(_check_declaration(relation, types))
        diagnostics += mistakes
        if not mistakes and all(attribute.type in types.kinds for attribute in relation.attributes):
            schemas[relation.name] = _schema(relation, types)
    for directive in program.directives:
        diagnostics += _check_directive(directive, declarations)
    rules: list[Rule] = []
    for rule in program.rules:
        if _is_plain_fact(rule, schemas):
            rules.append(rule)
            continue
        mistakes = list(_check_rule(rule, declarations, types))
        diagnostics += mistakes
        if not mistakes and all(atom.relation in schemas for atom in _atoms(rule)):
            rules.append(rule)
    return Names(declarations, schemas, tuple(rules)), diagnostics


def _declarations(
    relations: Iterable[RelationDeclaration],
) -> tuple[dict[str, RelationDeclaration], list[Diagnostic]]:
    declarations: dict[str, RelationDeclaration] = {}
    diagnostics: list[Diagnostic] = []
    for relation in relations:
        first = declarations.setdefault(relation.name, relation)
        if first is not relation:
            diagnostics.append(
                Diagnostic(
                    "D202",
                    f"relation '{relation.name}' is declared twice",
                    relation.span,
                    "remove or rename one of the declarations",
                    notes=(Note("first declared here", first.span),),
                )
            )
    return declarations, diagnostics


def _check_declaration(relation: RelationDeclaration, types: TypeTable) -> Iterator[Diagnostic]:
    places: dict[str, Span] = {}
    for attribute in relation.attributes:
        if attribute.name in places:
            yield Diagnostic(
                "D206",
                f"relation '{relation.name}' has two attributes named '{attribute.name}'",
                attribute.span,
                "rename one of them",
                notes=(Note("the first one is here", places[attribute.name]),),
            )
        places.setdefault(attribute.name, attribute.span)
        if attribute.type not in types.known:
            yield Diagnostic(
                "D204",
                f"type '{attribute.type}' is not declared",
                attribute.span,
                types.suggestion(attribute.type),
            )
    locations = [attribute for attribute in relation.attributes if attribute.is_location]
    for attribute in locations[1:]:
        yield Diagnostic(
            "D225",
            f"relation '{relation.name}' has two location columns, '{locations[0].name}' and '{attribute.name}'",
            attribute.span,
            "a tuple is stored at one place: remove an '@'",
        )
    for qualifier in relation.qualifiers:
        if qualifier not in QUALIFIERS:
            near = nearest(qualifier, QUALIFIERS)
            yield Diagnostic(
                "D215",
                f"unknown qualifier '{qualifier}' of relation '{relation.name}'",
                relation.span,
                f"did you mean '{near}'?" if near else "remove it",
            )
    yield from check_equivalence(relation, types)


def _schema(relation: RelationDeclaration, types: TypeTable) -> Schema:
    attributes = (Attribute(part.name, part.type, types.kinds[part.type]) for part in relation.attributes)
    return Schema(relation.name, tuple(attributes))


def _check_directive(directive: Directive, declarations: Mapping[str, RelationDeclaration]) -> Iterator[Diagnostic]:
    for name in directive.relations:
        if name not in declarations:
            yield Diagnostic(
                "D210",
                f".{directive.kind.value} names the relation '{name}', which is not declared",
                directive.span,
                _relation_hint(name, declarations),
            )
        elif "inline" in declarations[name].qualifiers:
            yield Diagnostic(
                "D216",
                f".{directive.kind.value} cannot name '{name}': an inline relation has no rows of its own",
                directive.span,
                "remove the qualifier 'inline'",
                notes=(Note(f"'{name}' is declared here", declarations[name].span),),
            )
    if directive.kind is DirectiveKind.LIMITSIZE and not directive.parameter("n").isdecimal():
        yield Diagnostic(
            "D221",
            ".limitsize needs the number of rows",
            directive.span,
            f"write '.limitsize {directive.relations[0]}(n=1000)'",
        )


def _is_plain_fact(rule: Rule, schemas: Mapping[str, Schema]) -> bool:
    """Whether the rule is one fact of constants for a sound relation: the case that comes by the thousand."""
    if rule.body or len(rule.heads) != 1:
        return False
    head = rule.heads[0]
    schema = schemas.get(head.relation)
    return (
        schema is not None
        and len(schema.attributes) == len(head.arguments)
        and all(type(argument) is Constant for argument in head.arguments)
    )


def _check_rule(rule: Rule, declarations: Mapping[str, RelationDeclaration], types: TypeTable) -> Iterator[Diagnostic]:
    for atom in _atoms(rule):
        yield from _check_atom(atom, declarations)
    for head in rule.heads:
        yield from _check_head(head, rule)
    for literal in all_literals(rule.body):
        if isinstance(literal, Test):
            yield from _check_test(literal)
    ranges = {id(term) for literal in all_literals(rule.body) for term in _sides_of_equality(literal)}
    for term in all_terms((*rule.heads, *rule.body)):
        match term:
            case Call():
                yield from _check_call(term)
                if term.function == "range" and id(term) not in ranges:
                    yield Diagnostic(
                        "D219",
                        "'range' stands for many values and cannot be part of an expression",
                        term.span,
                        "write 'x = range(…)' and use 'x'",
                    )
            case Cast(type=name) if name not in types.known:
                yield Diagnostic("D204", f"type '{name}' is not declared", term.span, types.suggestion(name))
    yield from _check_order_hint(rule)


def _atoms(rule: Rule) -> Iterator[Atom]:
    yield from rule.heads
    for literal in all_literals(rule.body):
        match literal:
            case Atom():
                yield literal
            case Negation(atom=atom):
                yield atom


def _sides_of_equality(literal: Literal) -> tuple[Term, ...]:
    match literal:
        case Comparison(operator=ComparisonOperator.EQUAL, left=left, right=right):
            return (left, right)
        case _:
            return ()


def _check_atom(atom: Atom, declarations: Mapping[str, RelationDeclaration]) -> Iterator[Diagnostic]:
    relation = declarations.get(atom.relation)
    if relation is None:
        yield Diagnostic(
            "D201",
            f"relation '{atom.relation}' is not declared",
            atom.span,
            _relation_hint(atom.relation, declarations),
        )
    elif len(relation.attributes) != len(atom.arguments):
        yield Diagnostic(
            "D203",
            f"relation '{atom.relation}' has {_count(len(relation.attributes), 'attribute')}, "
            f"but {_count(len(atom.arguments), 'argument')} {'is' if len(atom.arguments) == 1 else 'are'} given",
            atom.span,
            "give one argument for each attribute; '_' stands for any value",
            notes=(Note("declared here", relation.span),),
        )


def _relation_hint(name: str, declarations: Mapping[str, RelationDeclaration]) -> str:
    near = nearest(name, declarations)
    return f"did you mean '{near}'?" if near else f"declare it with '.decl {name}(…)'"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _check_head(head: Atom, rule: Rule) -> Iterator[Diagnostic]:
    for term in all_terms(head.arguments):
        match term:
            case Wildcard():
                yield Diagnostic(
                    "D211",
                    f"'_' has no value that '{head.relation}' could hold",
                    term.span,
                    "write the value, or a variable that the body binds",
                )
            case Aggregate():
                yield Diagnostic(
                    "D212",
                    f"an aggregate cannot stand in {'the head of a rule' if rule.body else 'a fact'}",
                    term.span,
                    f"write 'x = {term.function.value} …' in the body and use 'x' here",
                )
                return
            case Variable(name) if not rule.body:
                yield Diagnostic(
                    "D213",
                    f"a fact cannot hold the variable '{name}'",
                    term.span,
                    f'write a value (a symbol is quoted: "{name}"), or give the rule a body that binds it',
                )


def _check_test(test: Test) -> Iterator[Diagnostic]:
    known = TESTS.get(test.function)
    if known is None:
        yield Diagnostic("D208", f"unknown test '{test.function}'", test.span, _function_hint(test.function, TESTS))
    elif len(known.operands) != len(test.arguments):
        expected = _count(len(known.operands), "argument")
        yield Diagnostic(
            "D209",
            f"'{test.function}' takes {expected}, but {_given(len(test.arguments))}",
            test.span,
            _usage(known.name),
        )


def _check_call(call: Call) -> Iterator[Diagnostic]:
    known = FUNCTIONS.get(call.function)
    if known is None:
        names = [name for name, function in FUNCTIONS.items() if function.notation is Notation.CALL]
        yield Diagnostic("D208", f"unknown function '{call.function}'", call.span, _function_hint(call.function, names))
    elif not known.takes(len(call.arguments)):
        yield Diagnostic(
            "D209",
            f"'{call.function}' takes {known.counts} argument{'' if known.counts == '1' else 's'}, "
            f"but {_given(len(call.arguments))}",
            call.span,
            _usage(call.function),
        )


def _given(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'} given"


USAGE = {
    "substr": "write substr(text, from, length)",
    "range": "write range(from, to) or range(from, to, step)",
    "match": "write match(pattern, text)",
    "contains": "write contains(part, text)",
}


def _usage(name: str) -> str:
    return USAGE.get(name, "give as many as it takes")


def _function_hint(name: str, names: Iterable[str]) -> str:
    near = nearest(name, names)
    return f"did you mean '{near}'?" if near else f"these are known: {', '.join(sorted(names))}"


def _check_order_hint(rule: Rule) -> Iterator[Diagnostic]:
    if rule.plan is None:
        return
    atoms = sum(isinstance(literal, Atom) for literal in flat_literals(rule.body))
    for _, order in rule.plan.orders:
        if sorted(order) != list(range(1, atoms + 1)):
            yield Diagnostic(
                "D220",
                f"({', '.join(map(str, order))}) is no order of the {_count(atoms, 'atom')} of the rule",
                rule.plan.span,
                f"use each number from 1 to {atoms} once",
            )
