"""Random literals: each maker adds one to a draft of a rule and binds what the literal binds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from fragments import VALUES, Fragment, Relation
from tidelog.schema import Kind

Choice = TypeVar("Choice")
LETTERS = {Kind.NUMBER: "n", Kind.SYMBOL: "s", Kind.FLOAT: "f", Kind.UNSIGNED: "u"}
NUMERIC = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT)


class Draft:
    """A rule in the making, or the body of an aggregate in it.

    `bound` has the variables that literals so far give a value, `computed` those of them whose values need not occur in
    any fact. `readable` relations may stand in atoms, `settled` ones also under negations and aggregates.
    """

    def __init__(
        self,
        draw: st.DrawFn,
        head: Relation,
        readable: Sequence[Relation],
        settled: Sequence[Relation],
        fragment: Fragment,
    ) -> None:
        self.draw, self.head, self.readable, self.settled, self.fragment = draw, head, readable, settled, fragment
        self.bound: dict[Kind, list[str]] = {kind: [] for kind in Kind}
        self.computed: set[str] = set()
        self.literals: list[str] = []
        self.recursive = False
        self.guarded = False
        self.total = bool(head.qualifier)
        self.depth = 0
        self.names = iter(range(1000))

    def inner(self) -> Draft:
        """A draft for the body of an aggregate: it sees the variables bound here."""
        inner = Draft(self.draw, self.head, self.settled, self.settled, self.fragment)
        inner.bound = {kind: list(names) for kind, names in self.bound.items()}
        inner.depth, inner.names = self.depth + 1, self.names
        return inner

    @property
    def may_fail(self) -> bool:
        """Whether an expression may have no value: not in an inline relation, whose rows need not all be computed."""
        return self.fragment.risky and not self.total

    def pick(self, options: Sequence[Choice]) -> Choice:
        return self.draw(st.sampled_from(options))

    def one_in(self, number: int) -> bool:
        return self.draw(st.integers(0, number - 1)) == number - 1

    def new_variable(self, kind: Kind) -> str:
        return f"{LETTERS[kind]}{next(self.names)}"

    def bind(self, kind: Kind, name: str) -> None:
        if name not in self.bound[kind]:
            self.bound[kind].append(name)

    def bound_kinds(self, among: Sequence[Kind] = tuple(Kind)) -> list[Kind]:
        return [kind for kind in among if self.bound[kind]]


def add_atom(draft: Draft) -> None:
    """An atom. One of a derived relation shares a variable with what stands before it, so that bodies stay small."""
    relation = draft.pick(draft.readable)
    if draft.literals and relation.layer > 0 and not any(draft.bound[kind] for kind in relation.kinds):
        relation = draft.readable[0]
    draft.recursive |= relation.layer == draft.head.layer
    must_share = bool(draft.literals) and relation.layer > 0
    fresh: list[tuple[Kind, str]] = []
    arguments = []
    for kind in relation.kinds:
        known = [*draft.bound[kind], *(name for other, name in fresh if other is kind)]
        form = draft.pick(["new", "known", "known", "new", "wildcard", "constant", "expression"])
        if must_share and draft.bound[kind]:
            form, must_share = "known", False
        match form:
            case "known" if known:
                arguments.append(draft.pick(known))
            case "wildcard":
                arguments.append("_")
            case "constant":
                arguments.append(constant(draft, kind))
            case "expression" if draft.bound[kind] and draft.one_in(3):
                arguments.append(expression(draft, kind))
            case _:
                fresh.append((kind, draft.new_variable(kind)))
                arguments.append(fresh[-1][1])
    for kind, name in fresh:
        draft.bind(kind, name)
    draft.literals.append(f"{relation.name}({', '.join(arguments)})")


def add_comparison(draft: Draft) -> None:
    """A comparison of two bound terms: also what drives a join of two atoms without a common variable."""
    if kinds := draft.bound_kinds():
        kind = draft.pick(kinds)
        right = constant(draft, kind) if draft.one_in(2) else expression(draft, kind)
        orders = draft.fragment.orders if kind is Kind.SYMBOL else ("<", "<=", ">", ">=", "!=", "=")
        left = draft.pick(draft.bound[kind])
        if kind is Kind.NUMBER and draft.may_fail and draft.one_in(12):
            left = f"{left} * 4611686018427387904"
        draft.literals.append(f"{left} {draft.pick(orders)} {right}")


def add_equation(draft: Draft) -> None:
    """A new variable, equal to an expression; seldom an unrelated constant."""
    kind = draft.pick(draft.bound_kinds() or draft.fragment.kinds)
    bind_to(draft, kind, expression(draft, kind))


def add_negation(draft: Draft) -> None:
    """The negation of a settled relation over bound terms, constants and wildcards."""
    draft.literals.append(f"!{closed_atom(draft, draft.pick(draft.settled))}")


def add_range(draft: Draft) -> None:
    """A new variable that runs through a short range."""
    start = draft.pick(draft.bound[Kind.NUMBER] or ["0"])
    form = draft.pick(
        ["range(0, 3)", "range({0}, {0} + 3)", "range({0} + 2, {0})", "range({0}, 6, 2)", "range(5, {0}, -2)"]
    )
    bind_to(draft, Kind.NUMBER, form.format(start))


def add_test(draft: Draft) -> None:
    """A test of a bound text, or of the identity of two; a comparison where no text is bound."""
    if texts := draft.bound[Kind.SYMBOL]:
        text, other = draft.pick(texts), draft.pick(texts)
        form = draft.pick(
            [
                'contains("a", {0})',
                "contains({1}, {0})",
                'match("a.*", {0})',
                '!match("[ab]+", {0})',
                '!contains("b", {0})',
                "ord({0}) = ord({1})",
                "ord({0}) != ord({1})",
            ]
        )
        draft.literals.append(form.format(text, other))
    else:
        add_comparison(draft)


def add_disjunction(draft: Draft) -> None:
    """Two or three alternatives that bind nothing."""
    branches = []
    for _ in range(draft.pick([2, 2, 3])):
        branch = filters(draft)
        if branch:
            branches.append(", ".join(branch))
    if branches:
        draft.literals.append(f"({' ; '.join(branches)})")


def add_choice(draft: Draft) -> None:
    """A disjunction each of whose alternatives binds the same new variable."""
    if kinds := draft.bound_kinds():
        kind = draft.pick(kinds)
        name = draft.new_variable(kind)
        branches = [f"{name} = {expression(draft, kind)}"]
        if sources := [relation for relation in draft.readable if kind in relation.kinds]:
            branches.append(closed_atom(draft, draft.pick(sources), (kind, name)))
        branches.append(", ".join([f"{name} = {constant(draft, kind)}", *filters(draft)]))
        draft.literals.append(f"({' ; '.join(branches)})")
        draft.bind(kind, name)
        draft.computed.add(name)


def add_truth(draft: Draft) -> None:
    """`true`, seldom `false`."""
    draft.literals.append("false" if draft.one_in(6) else "true")


def add_aggregate(draft: Draft) -> None:
    """An aggregate whose value is bound to a new variable or compared with a bound one."""
    kind, text = aggregate(draft)
    if draft.bound[kind] and draft.one_in(3):
        draft.literals.append(f"{draft.pick(draft.bound[kind])} {draft.pick(['<', '=', '!=', '>='])} {text}")
    else:
        bind_to(draft, kind, text)


def aggregate(draft: Draft) -> tuple[Kind, str]:
    """The kind and the text of an aggregate over settled relations that may use the variables bound so far."""
    inner = draft.inner()
    extras = [add_comparison, add_comparison, add_negation, add_equation]
    if draft.fragment.nested_aggregates and inner.depth < 2:
        extras += [add_aggregate, add_disjunction, add_disjunction, add_choice]
    extra = draft.pick(extras) if draft.one_in(3) else None
    inner.total = draft.total
    for _ in range(draft.pick([1, 1, 2])):
        add_atom(inner)
    if extra is not None:
        extra(inner)
    local = {kind: [name for name in inner.bound[kind] if name not in draft.bound[kind]] for kind in NUMERIC}
    kinds = [kind for kind in NUMERIC if local[kind]]
    function = draft.pick(draft.fragment.aggregates) if kinds else "count"
    if function == "count":
        return Kind.NUMBER, f"count : {{ {', '.join(inner.literals)} }}"
    kind = draft.pick(kinds)
    target = expression(inner, kind) if draft.one_in(4) else draft.pick(local[kind])
    result = Kind.FLOAT if function == "mean" else kind
    return result, f"{function} {target} : {{ {', '.join(inner.literals)} }}"


def bind_to(draft: Draft, kind: Kind, text: str) -> None:
    """Adds the equation of a new variable with `text`."""
    name = draft.new_variable(kind)
    draft.literals.append(f"{name} = {text}")
    draft.bind(kind, name)
    draft.computed.add(name)


def filters(draft: Draft) -> list[str]:
    """One or two literals over bound variables, or none where nothing is bound."""
    branch = Draft(draft.draw, draft.head, draft.readable, draft.settled, draft.fragment)
    branch.bound, branch.names, branch.total = draft.bound, draft.names, draft.total
    branch.pick([add_comparison, add_negation, add_closed_atom])(branch)
    if draft.one_in(3):
        add_comparison(branch)
    draft.recursive |= branch.recursive
    return branch.literals


def add_closed_atom(draft: Draft) -> None:
    """An atom that binds nothing."""
    draft.literals.append(closed_atom(draft, draft.pick(draft.readable)))


def closed_atom(draft: Draft, relation: Relation, binds: tuple[Kind, str] | None = None) -> str:
    """An atom over bound variables, constants and wildcards; `binds` stands once, at the first place of its kind."""
    draft.recursive |= relation.layer == draft.head.layer
    arguments = []
    for kind in relation.kinds:
        form = draft.pick(["known", "known", "wildcard", "constant", "expression"])
        if binds is not None and binds[0] is kind:
            arguments.append(binds[1])
            binds = None
        elif form == "wildcard" or not draft.bound[kind]:
            arguments.append("_")
        elif form == "constant":
            arguments.append(constant(draft, kind))
        elif form == "expression" and draft.one_in(3):
            arguments.append(expression(draft, kind))
        else:
            arguments.append(draft.pick(draft.bound[kind]))
    return f"{relation.name}({', '.join(arguments)})"


def constant(draft: Draft, kind: Kind) -> str:
    """A value of that kind as it is written."""
    value = draft.pick(VALUES[kind])
    match kind:
        case Kind.SYMBOL:
            return f'"{value}"'
        case Kind.UNSIGNED:
            return f"{value}u"
        case _:
            return str(value)


def expression(draft: Draft, kind: Kind) -> str:
    """A term of that kind over bound variables: a variable, a constant, or one function of them."""
    first = draft.pick(draft.bound[kind]) if draft.bound[kind] else constant(draft, kind)
    second = draft.pick([*draft.bound[kind], constant(draft, kind)])
    forms = ["{0}", *arithmetic(draft, kind)]
    if draft.may_fail and draft.one_in(6):
        forms = RISKY[kind]
    text = draft.pick(draft.bound[Kind.SYMBOL] or ['"12"'])
    number = draft.pick(draft.bound[Kind.NUMBER] or ["4"])
    return draft.pick(forms).format(first, second, text=text, number=number)


def arithmetic(draft: Draft, kind: Kind) -> list[str]:
    """Forms of expressions of that kind that always have a value, for values that are not large."""
    numbered = [form.replace("{}", "{0}", 1).replace("{}", "{1}", 1) for form in draft.fragment.arithmetic]
    match kind:
        case Kind.NUMBER:
            return (
                [*numbered, "strlen({text})", "{0} / 2", "{0} % 3", "lnot {0}"] if draft.fragment.functors else numbered
            )
        case Kind.UNSIGNED:
            return ["{0} + {1}", "max({0}, {1})", "{0} bor {1}", "{0} / 2u"]
        case Kind.FLOAT:
            return ["{0} + {1}", "{0} * {1}", "itof({number})", "{0} / 4.0", "-{0}"]
        case Kind.SYMBOL:
            return ["cat({0}, {1})", "substr({0}, 0, 1)", "to_string({number})"] if draft.fragment.functors else []


RISKY = {
    Kind.NUMBER: ["{0} / {1}", "{0} % {1}", "6 / {0}", "to_number({text})", "2 ^ {0}"],
    Kind.UNSIGNED: ["{0} - {1}", "{0} / {1}", "itou({number})"],
    Kind.FLOAT: ["{0} / {1}", "to_float({text})"],
    Kind.SYMBOL: ["substr({0}, {number}, 1)"],
}

MAKERS: dict[str, Callable[[Draft], None]] = {
    "comparison": add_comparison,
    "equation": add_equation,
    "negation": add_negation,
    "aggregate": add_aggregate,
    "range": add_range,
    "test": add_test,
    "disjunction": add_disjunction,
    "choice": add_choice,
    "truth": add_truth,
}
