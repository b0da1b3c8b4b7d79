"""Takes the text of rules to watch and the program whose relations they read, returns watch rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tidelog.activation.location import Location, at_location
from tidelog.activation.watch_rule import WatchRule, cannot_watch, watch_rule
from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram, SimpleRule
from tidelog.errors import Diagnostic, ProgramError, UsageError
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import (
    Atom,
    AttributeDeclaration,
    Constant,
    Disjunction,
    Item,
    Literal,
    Negation,
    Program,
    RelationDeclaration,
    Rule,
    Term,
    TypeDeclaration,
    Variable,
)
from tidelog.schema import Schema

WATCH = "<watch>"
_FIRST_ID = 1_000_000_000


@dataclass(frozen=True, slots=True)
class WatchText:
    """Rules for one head. `schema` says what its rows hold, declared or found from the body."""

    rules: tuple[WatchRule, ...]
    schema: Schema


def read_watch(text: str, checked: CheckedProgram, here: Location | None = None) -> WatchText:
    """The rules of `text`, for the tuples `here` where that is given.

    ProgramError says what is wrong with them, or what no arriving tuple can decide.
    """
    program = parse(text, file=WATCH)
    rules = tuple(replace(rule, id=_FIRST_ID + at) for at, rule in enumerate(program.rules))
    _check_form(program, rules, checked)
    declared = tuple(_declared(checked.program))
    head = rules[0].heads[0]
    if head.relation not in checked.schemas:
        declared += (_declaration(head, rules[0], checked.schemas),)
    found = check(Program((*declared, *rules), (*checked.program.texts, *program.texts)))
    simple = [rule for stratum in found.strata for rule in stratum.rules if rule.id >= _FIRST_ID]
    return WatchText(watchable(simple, found.texts, here), found.schemas[head.relation])


def watchable(rules: list[SimpleRule], texts: Mapping[str, str], here: Location | None = None) -> tuple[WatchRule, ...]:
    """`rules` as watch rules, without those that are never true; ProgramError says why one cannot be watched."""
    if here is not None:
        rules = [at_location(rule, here) for rule in rules]
    findings: list[Diagnostic] = [finding for rule in rules for finding in cannot_watch(rule)]
    if findings:
        raise ProgramError(list(dict.fromkeys(findings)), texts)
    return tuple(found for rule in rules if (found := watch_rule(rule)) is not None)


def _check_form(program: Program, rules: tuple[Rule, ...], checked: CheckedProgram) -> None:
    if any(not isinstance(item, Rule) for item in program.items) or not any(rule.body for rule in rules):
        raise UsageError(
            'expected a rule to watch, or several for the same head, such as "alert(p) :- near(p, d), uses(p, d)."; '
            "declare relations and give facts to the program itself"
        )
    findings = [finding for rule in rules for finding in _no_watch(rule, rules[0].heads[0].relation, checked)]
    if findings:
        raise ProgramError(findings, dict((*checked.program.texts, *program.texts)))


def _no_watch(rule: Rule, head: str, checked: CheckedProgram) -> Iterator[Diagnostic]:
    """What keeps `rule` from being one of a watch of `head`, as far as its form says."""
    if not rule.body:
        yield Diagnostic("D804", "a watch has rules, this is a fact", rule.span, "give facts to the program itself")
    if rule.signs:
        hint = f"watch what the body says, {head}(…) :- …, and let the program's own rules act"
        yield Diagnostic("D804", "a watch rule only tells: its head has no sign", rule.span, hint)
    for other in rule.heads:
        if other.relation != head:
            hint = "make a watch for each head; they share their index"
            yield Diagnostic("D804", f"a watch has one head, '{head}', and this is another", other.span, hint)
    if head not in checked.schemas:
        for atom in _atoms(rule.body):
            if atom.relation == head:
                message = f"a watch rule cannot read '{head}', the head that it gives itself"
                hint = f"put the recursive rules into the program and watch {head}"
                yield Diagnostic("D804", message, atom.span, hint)


def _atoms(literals: Iterable[Literal]) -> Iterator[Atom]:
    """The atoms of a body, negated ones and those of alternatives too; what aggregates read is refused anyway."""
    for literal in literals:
        match literal:
            case Atom():
                yield literal
            case Negation(atom):
                yield from _atoms((atom,))
            case Disjunction(alternatives):
                for alternative in alternatives:
                    yield from _atoms(alternative)


def _declared(program: Program) -> Iterator[Item]:
    """The declarations of a program, and the rules that inline relations stand for."""
    inline = {one.name for one in program.relations if "inline" in one.qualifiers}
    for item in program.items:
        match item:
            case RelationDeclaration() | TypeDeclaration():
                yield item
            case Rule(heads) if heads[0].relation in inline:
                yield item


def _declaration(head: Atom, rule: Rule, schemas: Mapping[str, Schema]) -> RelationDeclaration:
    """A declaration for a head that has none: each column has the type that its variable has in the body."""
    types = {
        term.name: attribute.type
        for literal in reversed(rule.body)
        if (atom := literal.atom if isinstance(literal, Negation) else literal)
        if isinstance(atom, Atom) and atom.relation in schemas
        for term, attribute in zip(atom.arguments, schemas[atom.relation].attributes, strict=False)
        if isinstance(term, Variable)
    }
    columns = tuple(
        AttributeDeclaration(term.name if isinstance(term, Variable) else f"column{at}", _type(term, types), term.span)
        for at, term in enumerate(head.arguments, 1)
    )
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        columns = tuple(replace(column, name=f"column{at}") for at, column in enumerate(columns, 1))
    return RelationDeclaration(head.relation, columns, span=head.span)


def _type(term: Term, types: Mapping[str, str]) -> str:
    match term:
        case Variable(name):
            return types.get(name, "number")
        case Constant(spelled=spelled) if spelled is not None:
            return spelled.value
        case _:
            return "number"
