"""The canonical text of a program. Law: `parse(print_program(p)) == p` for every program that can be written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from tidelog.language.syntax_tree import (
    Aggregate,
    Atom,
    AttributeDeclaration,
    Call,
    Cast,
    Comparison,
    Constant,
    Directive,
    Disjunction,
    Item,
    Literal,
    Negation,
    OrderHint,
    Pragma,
    Precedence,
    ProductionDeclaration,
    Program,
    RelationDeclaration,
    Rule,
    Term,
    Test,
    Truth,
    TypeDeclaration,
    TypeForm,
    Variable,
    Wildcard,
)
from tidelog.language.words import BINARY_OPERATORS, POWER_STRENGTH, PREFIX_OPERATORS, PREFIX_STRENGTH
from tidelog.schema import Kind

PRIMARY_STRENGTH = POWER_STRENGTH + 1

PREFIX_SPELLINGS = {function: spelling for spelling, function in PREFIX_OPERATORS.items()}


def print_program(program: Program) -> str:
    """The text of `program`, an item a line."""
    return "".join(f"{print_item(item)}\n" for item in program.items)


def print_item(item: Item) -> str:
    """The text of one item of a program."""
    match item:
        case RelationDeclaration(name, attributes, qualifiers):
            columns = ", ".join(map(_print_attribute, attributes))
            return " ".join([f".decl {name}({columns})", *qualifiers])
        case TypeDeclaration(name, TypeForm.SUBTYPE, bases):
            return f".type {name} <: {bases[0]}"
        case TypeDeclaration(name, _, bases):
            return f".type {name} = {' | '.join(bases)}"
        case Directive(kind, relations, parameters):
            given = ", ".join(f"{key}={print_string(value)}" for key, value in parameters)
            return f".{kind.value} {', '.join(relations)}" + (f"({given})" if given else "")
        case Pragma(name, value):
            return f".pragma {print_string(name)}" + (f" {print_string(value)}" if value else "")
        case ProductionDeclaration(semantics, refraction):
            return f".production {semantics.value}" + (" refraction" if refraction else "")
        case Rule():
            return print_rule(item)
        case _:
            assert_never(item)


def _print_attribute(attribute: AttributeDeclaration) -> str:
    return f"{'@' if attribute.is_location else ''}{attribute.name}: {attribute.type}"


def print_rule(rule: Rule) -> str:
    """The text of `rule`, with its '.', its precedence and its `.plan`."""
    signs = [sign.value for sign in rule.signs] or [""] * len(rule.heads)
    text = ", ".join(sign + print_literal(head) for sign, head in zip(signs, rule.heads, strict=True))
    if rule.body:
        text += f" :- {print_body(rule.body)}"
    text += "."
    if rule.precedence is not None:
        text += f" {print_precedence(rule.precedence)}"
    return text + ("" if rule.plan is None else f"\n{print_plan(rule.plan)}")


def print_precedence(precedence: Precedence) -> str:
    """`[name a, priority 10, before b, after c]`"""
    parts = [f"name {precedence.name}"] if precedence.name else []
    parts += [] if precedence.priority is None else [f"priority {precedence.priority}"]
    parts += [f"before {name}" for name in precedence.before]
    parts += [f"after {name}" for name in precedence.after]
    return f"[{', '.join(parts)}]"


def print_plan(plan: OrderHint) -> str:
    """`.plan 0:(2,1), 1:(1,2)`"""
    return ".plan " + ", ".join(f"{version}:({','.join(map(str, order))})" for version, order in plan.orders)


def print_body(body: tuple[Literal, ...]) -> str:
    """The literals of a body; one that is a disjunction alone needs no parentheses."""
    match body:
        case (Disjunction(alternatives),):
            return "; ".join(print_conjunction(alternative) for alternative in alternatives)
        case _:
            return print_conjunction(body)


def print_conjunction(literals: Iterable[Literal]) -> str:
    return ", ".join(print_literal(literal) for literal in literals)


def print_literal(literal: Literal) -> str:
    """The text of one literal."""
    match literal:
        case Atom(relation, arguments):
            return f"{relation}({print_terms(arguments)})"
        case Negation(atom):
            return f"!{print_literal(atom)}"
        case Comparison(operator, left, right):
            return f"{print_term(left)} {operator.value} {print_term(right)}"
        case Test(function, arguments, negated):
            return f"{'!' if negated else ''}{function}({print_terms(arguments)})"
        case Truth(value):
            return "true" if value else "false"
        case Disjunction(alternatives):
            return f"({'; '.join(print_conjunction(alternative) for alternative in alternatives)})"
        case _:
            assert_never(literal)


def print_terms(terms: Iterable[Term]) -> str:
    return ", ".join(print_term(term) for term in terms)


def print_term(term: Term) -> str:
    """The text of `term`, with parentheses only where the operators need them."""
    match term:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case Constant():
            return print_constant(term)
        case Call(function, (left, right)) if function in BINARY_OPERATORS:
            strength = BINARY_OPERATORS[function]
            return f"{operand(left, strength)} {function} {operand(right, strength + 1)}"
        case Call("^", (base, exponent)):
            return f"{operand(base, PRIMARY_STRENGTH)} ^ {operand(exponent, PREFIX_STRENGTH)}"
        case Call(function, (inner,)) if function in PREFIX_SPELLINGS:
            return print_prefix(function, inner)
        case Call(function, arguments):
            return f"{function}({print_terms(arguments)})"
        case Cast(inner, type_name):
            return f"as({print_term(inner)}, {type_name})"
        case Aggregate(function, target, body):
            over = "" if target is None else f" {print_term(target)}"
            return f"{function.value}{over} : {{ {print_body(body)} }}"
        case _:
            assert_never(term)


def operand(term: Term, weakest: int) -> str:
    """The text of `term` where something at least as strong as `weakest` must stand."""
    text = print_term(term)
    return text if strength_of(term) >= weakest else f"({text})"


def strength_of(term: Term) -> int:
    """How tightly the outermost operator of `term` binds."""
    match term:
        case Call(function, (_, _)) if function in BINARY_OPERATORS:
            return BINARY_OPERATORS[function]
        case Call("^", (_, _)):
            return POWER_STRENGTH
        case Call(function, (_,)) if function in PREFIX_SPELLINGS:
            return PREFIX_STRENGTH
        case Constant(value) if not isinstance(value, str) and value < 0:
            return PREFIX_STRENGTH
        case _:
            return PRIMARY_STRENGTH


def print_prefix(function: str, inner: Term) -> str:
    """A prefix operator with its operand; `-(5)` is the negation of 5, where `-5` is a constant."""
    spelling = PREFIX_SPELLINGS[function]
    if spelling != "-":
        return f"{spelling} {operand(inner, PREFIX_STRENGTH)}"
    match inner:
        case Constant(value, spelled) if spelled not in (Kind.SYMBOL, Kind.UNSIGNED) and not str(value).startswith("-"):
            return f"-({print_term(inner)})"
        case _:
            return f"-{operand(inner, PREFIX_STRENGTH)}"


def print_constant(constant: Constant) -> str:
    """The shortest spelling that reads back as the same constant."""
    value = constant.value
    if isinstance(value, str):
        return print_string(value)
    return f"{value}u" if constant.spelled is Kind.UNSIGNED else repr(value)


NAMED_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def print_string(text: str) -> str:
    """`text` in quotes; what does not print is written as an escape."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(escape, text))}"'


def escape(letter: str) -> str:
    if letter in NAMED_ESCAPES:
        return NAMED_ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
