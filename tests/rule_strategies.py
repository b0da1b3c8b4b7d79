"""Random rules for one relation of a random program."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from fragments import Fragment, Relation
from literal_strategies import MAKERS, Draft, add_atom, constant, expression
from tidelog.schema import Kind

GUARDS = {
    Kind.NUMBER: "{0} < 7, {0} > -4",
    Kind.UNSIGNED: "{0} < 6",
    Kind.SYMBOL: "strlen({0}) < 3",
}


@dataclass(frozen=True)
class RuleText:
    """A rule in pieces."""

    heads: tuple[str, ...]
    body: tuple[str, ...]

    @property
    def text(self) -> str:
        heads = ", ".join(self.heads)
        return f"{heads} :- {', '.join(self.body)}." if self.body else f"{heads}."


@st.composite
def rules_for(
    draw: st.DrawFn, relation: Relation, relations: tuple[Relation, ...], fragment: Fragment
) -> list[RuleText]:
    """One to three rules for `relation`, the first of them not recursive."""
    below = tuple(other for other in relations if other.layer < relation.layer)
    usable = below if relation.qualifier else tuple(other for other in relations if other.layer <= relation.layer)
    drafts = [Draft(draw, relation, below, below, fragment)]
    drafts += [Draft(draw, relation, usable, below, fragment) for _ in range(draw(st.integers(0, 2)))]
    return [rule(draft) for draft in drafts]


def rule(draft: Draft) -> RuleText:
    """A rule with one to three atoms and up to three other literals; seldom a fact, seldom with two heads."""
    if not draft.one_in(10):
        for _ in range(draft.pick([1, 2, 2, 1, 3])):
            add_atom(draft)
        for _ in range(draft.pick([0, 1, 1, 2, 3])):
            MAKERS[draft.pick(draft.fragment.literals)](draft)
    heads = [head(draft, draft.head)]
    twins = [other for other in draft.readable if other.layer == draft.head.layer and not other.qualifier]
    if twins and not draft.head.qualifier and draft.one_in(5):
        heads.append(head(draft, draft.pick(twins)))
    return RuleText(tuple(heads), tuple(draft.literals))


def head(draft: Draft, relation: Relation) -> str:
    """An atom over bound variables; where the rule is recursive, a computed value comes with a guard on its size."""
    return f"{relation.name}({', '.join(head_term(draft, kind) for kind in relation.kinds)})"


def head_term(draft: Draft, kind: Kind) -> str:
    """A term of that kind for a head."""
    old = [name for name in draft.bound[kind] if name not in draft.computed]
    if draft.bound[kind] and draft.one_in(4):
        if not draft.recursive:
            return expression(draft, kind)
        if kind in GUARDS and not draft.guarded and (draft.fragment.functors or kind is Kind.NUMBER):
            draft.guarded = True
            name = draft.new_variable(kind)
            draft.literals.append(f"{name} = {expression(draft, kind)}")
            draft.literals += GUARDS[kind].format(name).split(", ")
            draft.bind(kind, name)
            draft.computed.add(name)
            return name
    choices = old if draft.recursive else draft.bound[kind]
    return draft.pick(choices) if choices else constant(draft, kind)
