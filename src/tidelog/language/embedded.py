"""Rules built in Python: takes calls, returns the same `Program` that parsing the same rules as text gives.

p = rules()
edge = p.relation("edge", a="number", b="number")
path = p.relation("path", a="number", b="number")
x, y, z = variables("x y z")
p.rule(path(x, y), edge(x, y))
p.rule(path(x, z), path(x, y), edge(y, z))
p.fact(edge(1, 2))
p.output(path)
program = p.program()
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.errors import Diagnostic, ProgramError, UsageError
from tidelog.language.depth import check_depth
from tidelog.language.expressions import (
    Action,
    Condition,
    Expression,
    Operand,
    anything,
    as_term,
    caller_span,
    cast,
    checked_name,
    conjunction_of,
    count,
    fn,
    max_,
    mean,
    min_,
    single_atom,
    sum_,
    unsigned,
    variables,
)
from tidelog.language.syntax_tree import (
    Atom,
    AttributeDeclaration,
    Directive,
    DirectiveKind,
    Item,
    OrderHint,
    Pragma,
    Precedence,
    ProductionDeclaration,
    Program,
    RelationDeclaration,
    Rule,
    Semantics,
    Sign,
    TypeDeclaration,
    TypeForm,
)
from tidelog.language.words import QUALIFIERS, RESERVED_FOR_RELATIONS

Head: TypeAlias = Condition | Action

PYTHON_TYPES: dict[type, str] = {int: "number", float: "float", str: "symbol"}


def rules() -> RuleBuilder:
    """A builder without rules."""
    return RuleBuilder()


@dataclass(frozen=True, slots=True)
class Relation:
    """A declared relation; calling it with terms gives an atom."""

    name: str

    def __call__(self, *arguments: Operand) -> Condition:
        span = caller_span()
        return Condition((Atom(self.name, tuple(as_term(argument, span) for argument in arguments), span),))


class RuleBuilder:
    """Collects declarations, facts and rules in the order of the calls."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._rules = 0

    def program(self) -> Program:
        """Everything collected so far. Raises ProgramError for an expression that is too deep."""
        findings: list[Diagnostic] = []
        files: set[str] = set()
        for item in self._items:
            files.add(item.span.file)
            if isinstance(item, Rule):
                findings += check_depth(item)
        texts = {file: "".join(linecache.getlines(file)) for file in sorted(files)}
        if findings:
            raise ProgramError(findings, texts)
        return Program(tuple(self._items), tuple(texts.items()))

    def relation(self, relation_name: str, /, *qualifiers: str, **attributes: str | type) -> Relation:
        """Declares a relation: `p.relation("edge", a="number", b="symbol")`; int, float and str are types too.

        Among the qualifiers, `"@a"` says that column `a` is the location.
        """
        name = checked_name(relation_name, "relation", RESERVED_FOR_RELATIONS)
        places = {qualifier[1:] for qualifier in qualifiers if qualifier.startswith("@")}
        if missing := sorted(places - attributes.keys()):
            raise UsageError(f"'@{missing[0]}' names no attribute; there are: {', '.join(attributes)}")
        qualifiers = tuple(qualifier for qualifier in qualifiers if not qualifier.startswith("@"))
        for qualifier in qualifiers:
            if qualifier not in QUALIFIERS or qualifier in ("input", "output", "printsize"):
                known = ", ".join(known for known in QUALIFIERS if known not in ("input", "output", "printsize"))
                raise UsageError(f"unknown qualifier '{qualifier}'; known are {known}")
        span = caller_span()
        columns = tuple(
            AttributeDeclaration(attribute, type_name(given), span, attribute in places)
            for attribute, given in attributes.items()
        )
        self._items.append(RelationDeclaration(name, columns, qualifiers, span))
        return Relation(name)

    def subtype(self, name: str, base: str | type) -> str:
        """Declares `.type name <: base` and returns `name`."""
        return self._type(name, TypeForm.SUBTYPE, (base,))

    def alias(self, name: str, base: str | type) -> str:
        """Declares `.type name = base` and returns `name`."""
        return self._type(name, TypeForm.ALIAS, (base,))

    def union(self, name: str, first: str | type, second: str | type, *more: str | type) -> str:
        """Declares `.type name = first | second | …` and returns `name`."""
        return self._type(name, TypeForm.UNION, (first, second, *more))

    def _type(self, name: str, form: TypeForm, bases: tuple[str | type, ...]) -> str:
        span = caller_span()
        self._items.append(TypeDeclaration(checked_name(name, "type"), form, tuple(map(type_name, bases)), span))
        return name

    def fact(self, *facts: Condition) -> None:
        """Adds each of `facts`."""
        for fact in facts:
            atom = single_atom(fact, "a fact")
            self._add_rule((atom,), (), None)

    def rule(
        self,
        head: Head | Sequence[Head],
        *body: Condition | bool,
        plan: Mapping[int, Sequence[int]] | None = None,
        name: str = "",
        priority: int | None = None,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
    ) -> None:
        """Adds a rule: `head`, or each of several heads, holds when every condition of `body` does.

        `plan` is for each version of the rule the order of its atoms, as `.plan` gives it in text. With signs before
        its heads, `+open(x)` and `-closed(x)`, a rule acts; `name`, `priority`, `before` and `after` are for those.
        """
        heads = (head,) if isinstance(head, Condition | Action) else tuple(head)
        if not heads:
            raise UsageError("a rule needs a head")
        signs = tuple(each.sign for each in heads if isinstance(each, Action))
        atoms = tuple(each.atom if isinstance(each, Action) else single_atom(each, "a head") for each in heads)
        precedence = precedence_of(name, priority, before, after)
        if signs and len(signs) < len(heads):
            raise UsageError("some heads of this rule have a sign and others have none: write +open(x) or -open(x)")
        if precedence is not None and not signs:
            raise UsageError("name, priority, before and after are for rules that act: write +open(x) or -open(x)")
        self._add_rule(atoms, body, plan, signs, precedence)

    def production(self, semantics: Semantics | str, *refraction: str) -> None:
        """Declares how rules that act fire: `p.production("set")`, `p.production("instance", "refraction")`."""
        known = [each.value for each in Semantics]
        value = semantics.value if isinstance(semantics, Semantics) else semantics
        if value not in known:
            raise UsageError(f"{semantics!r} is no way in which rules fire; known are {', '.join(known)}")
        if refraction and (value != Semantics.INSTANCE.value or refraction != ("refraction",)):
            raise UsageError("behind 'instance' there may be 'refraction', and nothing behind the others")
        self._items.append(ProductionDeclaration(Semantics(value), bool(refraction), caller_span()))

    def _add_rule(
        self,
        heads: tuple[Atom, ...],
        body: tuple[Condition | bool, ...],
        plan: Mapping[int, Sequence[int]] | None,
        signs: tuple[Sign, ...] = (),
        precedence: Precedence | None = None,
    ) -> None:
        span = caller_span()
        hint = None
        if plan is not None:
            hint = OrderHint(tuple((version, tuple(order)) for version, order in plan.items()), span)
        self._rules += 1
        self._items.append(Rule(heads, conjunction_of(body), hint, span, self._rules, signs, precedence))

    def input(self, *relations: Relation, **parameters: str | int | bool) -> None:
        """Declares that the rows of `relations` come from outside; parameters are those of `.input`."""
        self._directive(DirectiveKind.INPUT, relations, parameters)

    def output(self, *relations: Relation, **parameters: str | int | bool) -> None:
        """Declares that the rows of `relations` are an answer; parameters are those of `.output`."""
        self._directive(DirectiveKind.OUTPUT, relations, parameters)

    def printsize(self, *relations: Relation) -> None:
        """Declares that the number of rows of `relations` is an answer."""
        self._directive(DirectiveKind.PRINTSIZE, relations, {})

    def limitsize(self, *relations: Relation, n: int) -> None:
        """Declares that evaluation of `relations` may stop at `n` rows."""
        self._directive(DirectiveKind.LIMITSIZE, relations, {"n": n})

    def _directive(
        self, kind: DirectiveKind, relations: tuple[Relation, ...], parameters: Mapping[str, str | int | bool]
    ) -> None:
        if not relations:
            raise UsageError(f"'{kind.value}' needs at least one relation")
        given = tuple((key, parameter_text(value)) for key, value in parameters.items())
        names = tuple(relation.name for relation in relations)
        self._items.append(Directive(kind, names, given, caller_span()))

    def pragma(self, name: str, value: str = "") -> None:
        """Sets an option, as `.pragma` does."""
        self._items.append(Pragma(name, value, caller_span()))


def precedence_of(name: str, priority: int | None, before: Sequence[str], after: Sequence[str]) -> Precedence | None:
    """What stands in brackets behind a rule in text; None where nothing would."""
    if isinstance(before, str) or isinstance(after, str):
        raise UsageError('before and after are lists of names of rules, such as ["opening"]')
    if priority is not None and (not isinstance(priority, int) or isinstance(priority, bool)):
        raise UsageError(f"the priority of a rule is a whole number, not {priority!r}")
    names = [checked_name(each, "rule", frozenset()) for each in (name, *before, *after) if each]
    if not names and priority is None:
        return None
    return Precedence(name, priority, tuple(before), tuple(after), caller_span())


def type_name(given: str | type) -> str:
    """The name of a type in the language."""
    if isinstance(given, str):
        return checked_name(given, "type")
    if given in PYTHON_TYPES:
        return PYTHON_TYPES[given]
    raise UsageError(f"{given!r} is not a type of the language; use 'number', 'unsigned', 'float' or 'symbol'")


def parameter_text(value: str | int | bool) -> str:
    """A parameter as text: true and false are small in the language."""
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = [
    "Action", "Condition", "Expression", "Relation", "RuleBuilder", "anything", "cast", "count", "fn", "max_", "mean",
    "min_", "rules", "sum_", "unsigned", "variables",
]  # fmt: skip
