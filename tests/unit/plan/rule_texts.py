"""Small programs for the tests of plans: parsed, checked and lowered, and random bodies over three relations."""

from __future__ import annotations

from hypothesis import strategies as st

from tidelog.analysis.check import check
from tidelog.language.parser import parse
from tidelog.plan.lower import lower
from tidelog.plan.nodes import Node, Plan, RulePlan
from tidelog.schema import Row

RELATIONS = """
.decl a(x: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number, z: number)
"""
ARITIES = {"a": 1, "b": 2, "c": 3}
VARIABLES = ("x", "y", "z", "w")

numbers = st.integers(0, 3)


def plan_of(text: str) -> Plan:
    """The plan of a program, not optimised."""
    return lower(check(parse(text, "rules.dl")))


def rule_plan(rule: str, head: str = ".decl h(x: number, y: number)") -> RulePlan:
    """The plan of one rule for `h` over the relations a(x), b(x, y) and c(x, y, z)."""
    plan = plan_of(f"{RELATIONS}{head}\n{rule}")
    (found,) = [rule for stratum in plan.strata for rule in stratum.once if rule.head == "h"]
    return found


def node_of(rule: str) -> Node:
    return rule_plan(rule).node


def tables() -> st.SearchStrategy[dict[str, set[Row]]]:
    """A few rows for each of the three relations."""
    return st.fixed_dictionaries(
        {name: st.sets(st.tuples(*[numbers] * arity), max_size=7) for name, arity in ARITIES.items()}
    )


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A safe rule for h(x, y): atoms with expressions, comparisons, equalities, negation, aggregates, in any order."""
    atoms = draw(st.lists(atom_texts(), min_size=1, max_size=3))
    bound = sorted({name for text, names in atoms for name in names})
    literals = [text for text, _ in atoms]
    if not bound:
        literals.append("x = 1")
        bound = ["x"]
    variable = st.sampled_from(bound)
    literals += draw(st.lists(tests(variable), max_size=3))
    free = [name for name in VARIABLES if name not in bound]
    if free and draw(st.booleans()):
        literals.append(f"{free[0]} = {draw(aggregates(variable))}")
        bound.append(free[0])
    elif free and draw(st.booleans()):
        literals.append(draw(st.sampled_from([f"{free[0]} = {bound[0]} + 1", f"{bound[0]} = {free[0]}"])))
        bound.append(free[0])
    head = [draw(st.sampled_from([*bound, "1", f"{bound[-1]} * 2"])) for _ in range(2)]
    return f"h({', '.join(head)}) :- {', '.join(draw(st.permutations(literals)))}."


@st.composite
def atom_texts(draw: st.DrawFn) -> tuple[str, frozenset[str]]:
    """The text of an atom and the variables that it binds."""
    name = draw(st.sampled_from(sorted(ARITIES)))
    first = draw(st.sampled_from(VARIABLES))
    argument = st.sampled_from([*VARIABLES, "_", "1", "2", f"{first} + 1"])
    terms = [first, *(draw(argument) for _ in range(ARITIES[name] - 1))]
    return f"{name}({', '.join(terms)})", frozenset(terms) & frozenset(VARIABLES)


@st.composite
def tests(draw: st.DrawFn, variable: st.SearchStrategy[str]) -> str:
    """A literal that binds nothing."""
    one, two = draw(variable), draw(variable)
    operator = draw(st.sampled_from(["=", "!=", "<", ">="]))
    forms = [
        f"{one} {operator} {two}",
        f"{one} {operator} 2",
        f"{one} + 1 {operator} {two}",
        f"!a({one})",
        f"!b({one}, {two} + 1)",
        f"!b(_, {one})",
        f"{one} = range(1, {two})",
        f"{one} {operator} {draw(aggregates(variable))}",
    ]
    return draw(st.sampled_from(forms))


@st.composite
def aggregates(draw: st.DrawFn, variable: st.SearchStrategy[str]) -> str:
    """An aggregate whose local variables start with an underscore."""
    outer = draw(variable)
    mark = draw(st.integers(0, 10_000))
    one, two = f"_p{mark}", f"_q{mark}"
    forms = [
        "count : { b(_, _) }",
        f"count : {{ b({outer}, _) }}",
        f"count : {{ a({one}), {one} < {outer} }}",
        f"sum {one} : {{ c({outer}, {one}, _) }}",
        f"max {one} + {outer} : {{ b({one}, {two}), {two} = {outer} }}",
        f"min {one} : {{ a({one}), !b({one}, {outer}) }}",
        f"sum {two} : {{ a({one}), {two} = count : {{ b({one}, {outer}) }} }}",
        f"count : {{ b({one}, {two}), {one} = 1 }}",
        f"count : {{ {outer} = 1, a({one}) }}",
        f"count : {{ b({one}, _), ({one} = {outer} ; {one} > 1 ; b(_, {two}), {two} = {outer} + 1) }}",
        f"sum {one} : {{ (b({outer}, {one}) ; a({one}), {one} < {outer} ; 1 = 1, b({one}, 1)) }}",
        f"max {one} : {{ (b({outer}, {one}) ; 1 > 2, a({one}) ; a({one}), {two} = count : {{ b({one}, {outer}) }}) }}",
    ]
    return draw(st.sampled_from(forms))
