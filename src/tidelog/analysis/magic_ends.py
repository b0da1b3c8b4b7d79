"""A search from both ends. Takes a question without variables about a linear recursion, returns its two sides.

Each rule of the relation R reads R at most once. `R@forth` is R as it grows from where it begins; `R@back` holds every
row that would make the answer true if it were in R, and grows from the question. Rows that both have answer it, and so
does the end of either side: once all of R is known, or once all that could lead to the question is known and R does
not begin with any of it. Where values branch, two short searches meet long before one of them is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidelog.analysis.adornment import bound_columns
from tidelog.analysis.checked import CheckedProgram, SimpleRule, Stratum
from tidelog.analysis.magic import Sources, given_rule
from tidelog.analysis.magic_bodies import atoms_read
from tidelog.analysis.sideways import pass_sideways
from tidelog.analysis.traversal import own_names
from tidelog.language.syntax_tree import Atom, Constant, Term, Variable, Wildcard
from tidelog.schema import Schema
from tidelog.span import NOWHERE


@dataclass(frozen=True, slots=True)
class BothEnds:
    """The rules of a search from both ends, over stored relations only.

    The question is a row of `asked`. `checked` has the stratum of the side forth, then that of the side back.
    `beginnings` are the relations that the first step forth reads, and `is_narrow` says that it begins with values of
    the question. Until that step is taken, `first_steps` tell whether R begins with a row of the side back.
    """

    checked: CheckedProgram
    asked: str
    forth: str
    back: str
    beginnings: frozenset[str]
    is_narrow: bool
    first_steps: tuple[SimpleRule, ...]


def both_ends(sources: Sources, question: Atom) -> BothEnds | None:
    """The search for `question`; None where it has a variable, or where a rule is not made for it."""
    relation, schema = question.relation, sources.checked.schemas[question.relation]
    if relation in sources.checked.size_limits or not schema.arity:
        return None
    if not all(isinstance(term, Constant) for term in question.arguments):
        return None
    rules = list(_rules(sources, question))
    steps = [(rule, _read_once(rule, relation)) for rule in rules if _reads(rule, relation)]
    begin = [rule for rule in rules if not _reads(rule, relation)]
    if any(not isinstance(term, Variable | Constant) for rule in begin for term in rule.head.arguments):
        return None
    if not steps or any(atom is None or not _leads_back(rule, atom) for rule, atom in steps):
        return None
    if any(atom.relation in sources.rules and atom.relation != relation for atom in _atoms(rules)):
        return None
    asked, forth, back = (f"{relation}@{part}" for part in ("asked", "forth", "back"))
    kept = _kept_columns([(rule.head, atom) for rule, atom in steps if atom is not None])
    forth_rules = [_narrowed(rule, asked, forth, kept) for rule in begin]
    forth_rules += [_renamed(rule, relation, forth, rule.head, atom) for rule, atom in steps if atom is not None]
    back_rules = [_start(schema, asked, back)]
    back_rules += [_renamed(rule, relation, back, atom, rule.head) for rule, atom in steps if atom is not None]
    own = {name: replace(schema, relation=name) for name in (asked, forth, back)}
    stored = {atom.relation for atom in _atoms(rules)} - {relation}
    schemas = {**sources.stored_schemas(stored), **own}
    strata = (Stratum((forth,), tuple(forth_rules), True), Stratum((back,), tuple(back_rules), True))
    checked = replace(sources.checked, schemas=schemas, strata=strata, inputs=(), outputs=(), size_limits={})
    beginnings = frozenset(atom.relation for atom in _atoms(begin))
    first_steps = tuple(_guarded(rule, back) for rule in begin)
    return BothEnds(checked, asked, forth, back, beginnings, any(kept), first_steps)


def _rules(sources: Sources, question: Atom) -> Iterator[SimpleRule]:
    relation = question.relation
    form = sources.search_form(relation, bound_columns(question, frozenset()))
    if form is not None and not form.start:
        yield from form.rules
        return
    yield from sources.rules.get(relation, ())
    if relation in sources.given:
        yield given_rule(sources.checked.schemas[relation])


def _atoms(rules: Sequence[SimpleRule]) -> Iterator[Atom]:
    return (atom for rule in rules for atom in atoms_read(rule.body))


def _reads(rule: SimpleRule, relation: str) -> bool:
    return any(atom.relation == relation for atom in atoms_read(rule.body))


def _read_once(rule: SimpleRule, relation: str) -> Atom | None:
    """The atom of `relation` in a rule that has exactly one of it, not inside an aggregate."""
    own = [literal for literal in rule.body if isinstance(literal, Atom) and literal.relation == relation]
    return own[0] if len(own) == 1 and sum(atom.relation == relation for atom in atoms_read(rule.body)) == 1 else None


def _leads_back(rule: SimpleRule, atom: Atom) -> bool:
    """Whether the other literals, none of which may lack a value, say from which rows a row of the head follows."""
    if not all(isinstance(term, Variable | Constant) for term in (*rule.head.arguments, *atom.arguments)):
        return False
    others = [literal for literal in rule.body if literal is not atom]
    bound = own_names((rule.head,))
    passing = pass_sideways(others, bound, lambda _: False)
    return not passing.rest and all(bound_columns(atom, bound | own_names(passing.onward)))


def _kept_columns(steps: Sequence[tuple[Atom, Atom]]) -> tuple[bool, ...]:
    """The columns that have the same value in a row and in the one that it follows from, by every rule."""
    pairs = [zip(head.arguments, atom.arguments, strict=True) for head, atom in steps]
    return tuple(
        all(isinstance(one, Variable) and one == other for one, other in column) for column in zip(*pairs, strict=True)
    )


def _narrowed(rule: SimpleRule, asked: str, forth: str, kept: tuple[bool, ...]) -> SimpleRule:
    """A rule by which the relation begins, where columns that stay the same have the values asked for."""
    head = replace(rule.head, relation=forth)
    if not any(kept):
        return replace(rule, head=head, plan=None)
    columns: tuple[Term, ...] = tuple(
        term if is_kept else Wildcard() for term, is_kept in zip(rule.head.arguments, kept, strict=True)
    )
    return replace(rule, head=head, body=(Atom(asked, columns, rule.head.span), *rule.body), plan=None)


def _guarded(rule: SimpleRule, back: str) -> SimpleRule:
    """A rule by which the relation begins, for rows that the side back has."""
    head = replace(rule.head, relation=back)
    return replace(rule, head=head, body=(head, *rule.body), plan=None)


def _renamed(rule: SimpleRule, relation: str, name: str, head: Atom, other: Atom) -> SimpleRule:
    """`rule` between rows of `name`: from `other` to `head`."""
    rest = tuple(literal for literal in rule.body if not (isinstance(literal, Atom) and literal.relation == relation))
    return replace(rule, head=replace(head, relation=name), body=(replace(other, relation=name), *rest), plan=None)


def _start(schema: Schema, asked: str, back: str) -> SimpleRule:
    """The rule by which the search back begins with the question."""
    variables = tuple(Variable(column) for column in schema.names)
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    return SimpleRule(0, Atom(back, variables), (Atom(asked, variables),), kinds, NOWHERE, "the question")
