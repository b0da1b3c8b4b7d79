"""The types a program declares. Takes type declarations, returns a table that knows kinds and subtypes.

A type is a set of values of one kind: a base type has all of them, `A <: B` is some part of `B`, an alias is its base,
and a union has the values of its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.errors import Diagnostic, Note
from tidelog.language.syntax_tree import TypeDeclaration, TypeForm
from tidelog.language.words import nearest
from tidelog.schema import Kind

BASE_TYPES: Mapping[str, Kind] = {kind.value: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class TypeTable:
    """For each sound type its kind, and the names of all types whose values it surely has (its own among them).

    `known` has the names of the faulty ones too, so that a mistake in one declaration is reported once.
    """

    kinds: Mapping[str, Kind]
    below: Mapping[str, frozenset[str]]
    known: frozenset[str]

    def accepts(self, wide: str, narrow: str) -> bool:
        """Whether every value of `narrow` is one of `wide`."""
        return narrow in self.below[wide]

    def common(self, one: frozenset[str], other: str) -> frozenset[str]:
        """The widest types that lie both in one of `one` and in `other`; empty when the types are disjoint."""
        shared = frozenset().union(*(self.below[name] for name in one)) & self.below[other]
        return frozenset(name for name in shared if not any(self.above(rival, name) for rival in shared))

    def above(self, wide: str, narrow: str) -> bool:
        """Whether `wide` has all values of `narrow` and is not merely another name for it."""
        return self.accepts(wide, narrow) and not self.accepts(narrow, wide)

    def suggestion(self, name: str) -> str:
        """A hint for an unknown type `name`."""
        near = nearest(name, self.known)
        return f"did you mean '{near}'?" if near else f"declare it with '.type {name} <: …', or use a base type"


def resolve_types(declarations: Iterable[TypeDeclaration]) -> tuple[TypeTable, list[Diagnostic]]:
    """The table of all sound types, and a diagnostic for each mistake in a declaration."""
    diagnostics: list[Diagnostic] = []
    declared: dict[str, TypeDeclaration] = {}
    for declaration in declarations:
        if declaration.name in BASE_TYPES:
            diagnostics.append(_redeclared_base(declaration))
        elif declaration.name in declared:
            diagnostics.append(_declared_twice(declaration, declared[declaration.name]))
        else:
            declared[declaration.name] = declaration
    names = TypeTable({}, {}, frozenset(BASE_TYPES) | frozenset(declared))
    diagnostics += [finding for declaration in declared.values() for finding in _unknown_bases(declaration, names)]
    diagnostics += _cycles(declared)
    kinds, mixed = _kinds(declared)
    return TypeTable(kinds, _below(declared, kinds), names.known), [*diagnostics, *mixed]


def _redeclared_base(declaration: TypeDeclaration) -> Diagnostic:
    return Diagnostic(
        "D205", f"'{declaration.name}' is a base type and cannot be declared", declaration.span, "choose another name"
    )


def _declared_twice(declaration: TypeDeclaration, first: TypeDeclaration) -> Diagnostic:
    return Diagnostic(
        "D205",
        f"type '{declaration.name}' is declared twice",
        declaration.span,
        "remove or rename one of the declarations",
        notes=(Note("first declared here", first.span),),
    )


def _unknown_bases(declaration: TypeDeclaration, names: TypeTable) -> Iterator[Diagnostic]:
    for base in declaration.bases:
        if base not in names.known:
            yield Diagnostic("D204", f"type '{base}' is not declared", declaration.span, names.suggestion(base))


def _cycles(declared: Mapping[str, TypeDeclaration]) -> Iterator[Diagnostic]:
    """One diagnostic for each cycle of declarations, at the first of them."""
    reported: set[str] = set()
    for name, declaration in declared.items():
        cycle = None if name in reported else _cycle_from(name, declared)
        if cycle:
            reported.update(cycle)
            yield Diagnostic(
                "D207",
                f"type '{name}' is declared through itself: {' -> '.join([*cycle, name])}",
                declaration.span,
                "let one of these types rest on a base type, such as 'number' or 'symbol'",
                notes=tuple(Note(f"'{other}' is declared here", declared[other].span) for other in cycle[1:]),
            )


def _cycle_from(start: str, declared: Mapping[str, TypeDeclaration]) -> list[str] | None:
    """The shortest way from `start` back to itself."""
    paths = [[start]]
    seen: set[str] = set()
    for path in paths:
        for base in declared[path[-1]].bases:
            if base == start:
                return path
            if base in declared and base not in seen:
                seen.add(base)
                paths.append([*path, base])
    return None


def _kinds(declared: Mapping[str, TypeDeclaration]) -> tuple[dict[str, Kind], list[Diagnostic]]:
    """The kind of each type that has one; unions of several kinds are reported and have none."""
    kinds = dict(BASE_TYPES)
    diagnostics: list[Diagnostic] = []
    waiting = dict(declared)
    while ready := [name for name, declaration in waiting.items() if all(base in kinds for base in declaration.bases)]:
        for name in ready:
            declaration = waiting.pop(name)
            found = {kinds[base]: base for base in reversed(declaration.bases)}
            if len(found) == 1:
                kinds[name] = kinds[declaration.bases[0]]
                continue
            members = ", ".join(f"{base} is a {kinds[base].value}" for base in declaration.bases)
            diagnostics.append(
                Diagnostic(
                    "D307",
                    f"the members of union '{name}' are of different kinds: {members}",
                    declaration.span,
                    "a union has members of one kind",
                )
            )
    return kinds, diagnostics


def _below(declared: Mapping[str, TypeDeclaration], kinds: Mapping[str, Kind]) -> dict[str, frozenset[str]]:
    """For each type that has a kind, all types that lie in it: the least solution, found by growing."""
    below = {name: {name} for name in kinds}
    for name, kind in kinds.items():
        below[kind.value].add(name)
    growing = True
    while growing:
        size = sum(map(len, below.values()))
        for name, declaration in declared.items():
            if name not in kinds:
                continue
            if declaration.form is TypeForm.SUBTYPE:
                _add_below_all_above(below, declaration.bases[0], below[name])
                continue
            for base in declaration.bases:
                _add_below_all_above(below, name, below[base])
            if declaration.form is TypeForm.ALIAS:
                _add_below_all_above(below, declaration.bases[0], below[name])
            else:
                _add_union_below(below, name, declaration.bases)
        growing = sum(map(len, below.values())) > size
    return {name: frozenset(names) for name, names in below.items()}


def _add_below_all_above(below: dict[str, set[str]], wide: str, narrow: set[str]) -> None:
    """Puts `narrow` below `wide` and below whatever has `wide` below it."""
    names = set(narrow)
    for others in below.values():
        if wide in others:
            others |= names


def _add_union_below(below: dict[str, set[str]], union: str, members: tuple[str, ...]) -> None:
    """Puts `union` below each type that has all its members below it."""
    for others in below.values():
        if all(member in others for member in members):
            others.add(union)
