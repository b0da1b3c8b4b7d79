"""Declarations, types and directives: everything that begins with a dotted word."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.errors import Diagnostic
from tidelog.language.cursor import Cursor
from tidelog.language.lexer import DIRECTIVE, END, NAME, NUMBER, STRING, Token, decode_string
from tidelog.language.parse_precedence import parse_production
from tidelog.language.syntax_tree import (
    AttributeDeclaration,
    Directive,
    DirectiveKind,
    Item,
    Pragma,
    RelationDeclaration,
    TypeDeclaration,
    TypeForm,
)
from tidelog.language.words import DIRECTIVES, LATER_DIRECTIVES, QUALIFIERS, nearest

TYPE_HINT = "write .type A <: number, .type A = B or .type A = B | C"


def parse_directive(cursor: Cursor) -> list[Item]:
    """The items that the directive at the cursor declares."""
    word = cursor.advance()
    name = word.text.removeprefix(".")
    if name in LATER_DIRECTIVES:
        return skip_later(cursor, word)
    parser = PARSERS.get(name)
    if parser is None:
        close = nearest(name, DIRECTIVES)
        hint = f"did you mean '.{close}'?" if close else "known are " + ", ".join(f".{known}" for known in DIRECTIVES)
        raise cursor.failure("D110", f"unknown directive '{word.text}'", word.span, hint)
    return parser(cursor, word)


def parse_declaration(cursor: Cursor, word: Token) -> list[Item]:
    """`.decl name, …(attribute: type, …) qualifier …`"""
    names = [cursor.relation_name("the name of a relation")]
    while cursor.accept(","):
        names.append(cursor.relation_name("the name of a relation"))
    hint = f"write .decl {names[-1].text}(x: number)"
    opening = cursor.expect("(", f"'(' and the attributes of '{names[-1].text}'", hint)
    attributes: list[AttributeDeclaration] = []
    if cursor.token.kind != ")":
        attributes.append(parse_attribute(cursor))
        while cursor.accept(","):
            attributes.append(parse_attribute(cursor))
    cursor.expect_close(opening, "',' or ')'")
    qualifiers = parse_qualifiers(cursor)
    span = cursor.since(word)
    kept = tuple(qualifier for qualifier in qualifiers if qualifier not in OLD_DIRECTIVES)
    items: list[Item] = [
        RelationDeclaration(name.text, tuple(attributes), kept, name.span if len(names) > 1 else span) for name in names
    ]
    items += [
        Directive(OLD_DIRECTIVES[qualifier], tuple(name.text for name in names), span=span)
        for qualifier in qualifiers
        if qualifier in OLD_DIRECTIVES
    ]
    return items


OLD_DIRECTIVES = {
    "input": DirectiveKind.INPUT,
    "output": DirectiveKind.OUTPUT,
    "printsize": DirectiveKind.PRINTSIZE,
}
"""Qualifiers of older programs; each stands for the directive of the same name."""


def parse_attribute(cursor: Cursor) -> AttributeDeclaration:
    """`name: type`, or `@name: type`"""
    start = cursor.token
    is_location = cursor.accept("@")
    name = cursor.expect(NAME, "the name of an attribute", "write name: type, such as x: number")
    if cursor.token.kind in (",", ")"):
        hint = f"write {name.text}: number, or another of number, unsigned, float, symbol and your own types"
        raise cursor.failure("D120", f"attribute '{name.text}' has no type", name.span, hint)
    cursor.expect(":", f"':' and the type of '{name.text}'", f"write {name.text}: number")
    type_name = parse_type_name(cursor)
    return AttributeDeclaration(name.text, type_name.text, start.span.to(type_name.span), bool(is_location))


def parse_type_name(cursor: Cursor) -> Token:
    """The name of a type; a record type in its place is reported and passed over."""
    if cursor.token.kind == "[":
        opening = cursor.token
        cursor.later("record types are", cursor.skip_group())
        return opening
    token = cursor.expect(NAME, "the name of a type", "such as number, unsigned, float, symbol or one of your own")
    while cursor.token.kind == "." and cursor.previous.touches(cursor.token) and cursor.ahead().kind == NAME:
        cursor.later("qualified names of components are", token.span.to(cursor.ahead().span))
        cursor.at += 2
    return token


def parse_qualifiers(cursor: Cursor) -> tuple[str, ...]:
    """The words behind the attributes of a declaration."""
    qualifiers: list[str] = []
    while cursor.token.kind == NAME and cursor.ahead().kind != "(":
        token = cursor.token
        if token.text == "choice" and cursor.ahead().kind == "-":
            skip_choice(cursor)
        elif token.text in QUALIFIERS:
            cursor.advance()
            qualifiers.append(token.text)
        elif token.line == cursor.previous.end_line:
            cursor.advance()
            close = nearest(token.text, QUALIFIERS)
            hint = f"did you mean '{close}'?" if close else "known are " + ", ".join(QUALIFIERS)
            cursor.report("D112", f"unknown qualifier '{token.text}'", token.span, hint)
        else:
            break
    return tuple(qualifiers)


def skip_choice(cursor: Cursor) -> None:
    """Passes over `choice-domain a, (b, c)`."""
    first = cursor.advance()
    cursor.advance()
    cursor.expect(NAME, "'choice-domain'")
    while True:
        if cursor.token.kind == "(":
            cursor.skip_group()
        else:
            cursor.expect(NAME, "the name of an attribute")
        if not cursor.accept(","):
            break
    cursor.later("choice-domain is", cursor.since(first))


def parse_type(cursor: Cursor, word: Token) -> list[Item]:
    """`.type A <: B`, `.type A = B`, `.type A = B | C`"""
    name = cursor.expect(NAME, "the name of the new type", TYPE_HINT)
    if cursor.accept("<:"):
        base = parse_type_name(cursor)
        return [TypeDeclaration(name.text, TypeForm.SUBTYPE, (base.text,), word.span.to(base.span))]
    if cursor.token.kind != "=":
        raise cursor.failure("D122", f"type '{name.text}' says nothing about its values", name.span, TYPE_HINT)
    cursor.advance()
    if cursor.token.kind == "[":
        cursor.later("record types are", word.span.to(cursor.skip_group()))
        return []
    if cursor.ahead().kind == "{":
        while cursor.accept(NAME) and cursor.token.kind == "{":
            cursor.skip_group()
            if not cursor.accept("|"):
                break
        cursor.later("algebraic types are", cursor.since(word))
        return []
    bases = [parse_type_name(cursor)]
    while cursor.accept("|"):
        bases.append(parse_type_name(cursor))
    form = TypeForm.ALIAS if len(bases) == 1 else TypeForm.UNION
    return [TypeDeclaration(name.text, form, tuple(base.text for base in bases), word.span.to(bases[-1].span))]


def parse_old_type(cursor: Cursor, word: Token) -> list[Item]:
    """`.number_type A` and `.symbol_type A`, which are `.type A <: number` and `.type A <: symbol`."""
    name = cursor.expect(NAME, "the name of the new type", TYPE_HINT)
    base = word.text.removeprefix(".").removesuffix("_type")
    return [TypeDeclaration(name.text, TypeForm.SUBTYPE, (base,), word.span.to(name.span))]


def parse_relation_directive(cursor: Cursor, word: Token) -> list[Item]:
    """`.input a, b(key=value, …), c …`: parameters are those of the relations before them."""
    kind = DirectiveKind(word.text.removeprefix("."))
    items: list[Item] = []
    first = word
    if cursor.token.kind == NAME and cursor.ahead().kind == "(" and cursor.token.line > word.line:
        raise cursor.failure("D129", f"'{word.text}' names no relation", word.span, f"write {word.text} edge")
    while True:
        names = [cursor.relation_name(f"the name of a relation after '{word.text}'").text]
        while cursor.accept(","):
            names.append(cursor.relation_name("the name of a relation").text)
        parameters = parse_parameters(cursor) if cursor.token.kind == "(" else ()
        items.append(Directive(kind, tuple(names), parameters, cursor.since(first)))
        if not cursor.accept(","):
            return items
        first = cursor.token


def parse_parameters(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    """`(key=value, …)`"""
    opening = cursor.advance()
    parameters: list[tuple[str, str]] = []
    while cursor.token.kind != ")":
        hint = 'write key=value, such as filename="edge.csv"'
        key = cursor.expect(NAME, "the name of a parameter", hint)
        cursor.expect("=", f"'=' after '{key.text}'", hint)
        parameters.append((key.text, parse_value(cursor, key)))
        if not cursor.accept(","):
            break
    cursor.expect_close(opening, "',' or ')'")
    return tuple(parameters)


def parse_value(cursor: Cursor, key: Token) -> str:
    """The value of a parameter as text."""
    token = cursor.token
    if token.kind == STRING:
        return parse_text(cursor, "")
    sign = "-" if cursor.accept("-") else ""
    if cursor.token.kind in (NAME, NUMBER):
        return sign + cursor.advance().text
    raise cursor.unexpected(f"a value for '{key.text}'", 'a value is a string, a number or a word: delimiter=","')


def parse_text(cursor: Cursor, wanted: str) -> str:
    """The text of the string at the cursor."""
    token = cursor.expect(STRING, wanted)
    text = decode_string(token)
    if isinstance(text, Diagnostic):
        cursor.diagnostics.append(text)
        return ""
    return text


def parse_pragma(cursor: Cursor, word: Token) -> list[Item]:
    """`.pragma "name" "value"`"""
    name = parse_text(cursor, 'the name of an option in quotes, as in .pragma "name" "value"')
    value = parse_text(cursor, "") if cursor.token.kind == STRING else ""
    return [Pragma(name, value, cursor.since(word))]


def misplaced_plan(cursor: Cursor, word: Token) -> list[Item]:
    hint = "put it directly behind the '.' of the rule it is for"
    raise cursor.failure("D113", "this .plan follows no rule", word.span, hint)


PARSERS: dict[str, Callable[[Cursor, Token], list[Item]]] = {
    "decl": parse_declaration,
    "type": parse_type,
    "number_type": parse_old_type,
    "symbol_type": parse_old_type,
    "input": parse_relation_directive,
    "output": parse_relation_directive,
    "printsize": parse_relation_directive,
    "limitsize": parse_relation_directive,
    "pragma": parse_pragma,
    "production": parse_production,
    "plan": misplaced_plan,
}


def skip_later(cursor: Cursor, word: Token) -> list[Item]:
    """Nothing: passes over a directive that is not supported yet, and reports it."""
    what, hint = {
        ".comp": ("components are", "write the rules in full"),
        ".init": ("components are", "write the rules in full"),
        ".functor": ("user-defined functors are", ""),
        ".lattice": ("lattices are", ""),
        ".override": ("components are", "write the rules in full"),
        ".include": (".include is", 'write #include "file"'),
        ".once": (".once is", ""),
    }[word.text]
    start = cursor.at
    name = cursor.token.span if cursor.token.line == word.line else word.span
    cursor.later(what, word.span.to(name), hint)
    if word.text in (".comp", ".lattice"):
        while cursor.token.kind not in ("{", END, DIRECTIVE):
            cursor.advance()
    if cursor.token.kind == "{":
        cursor.skip_group()
    else:
        cursor.skip_lines_of(start - 1)
    cursor.forget_mistakes(start)
    return []
