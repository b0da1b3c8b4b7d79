"""A plan as a person reads it: strata in order of evaluation, and each rule as a line of joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import assert_never

from tidelog.analysis.checked import ClosureGroup, ClosureKind
from tidelog.language.printer import print_literal, print_term
from tidelog.language.syntax_tree import Constant
from tidelog.plan.nodes import (
    Antijoin,
    Distinct,
    Extend,
    GroupJoin,
    Join,
    Node,
    Plan,
    Project,
    Range,
    RulePlan,
    Scan,
    Select,
    StratumPlan,
    Union,
    Unit,
    Values,
    Version,
)

WIDTH = 110
VERSION_MARKS = {
    Version.FULL: "",
    Version.OLD: "°",
    Version.DELTA: "Δ",
    Version.MARKED: "!",
    Version.OLDER: "<",
    Version.YOUNGER: ">",
}
FOOTER = "Δ rows of the last round, ° rows from before it. Joins are ordered again while the program runs."


def print_plan(plan: Plan) -> str:
    """The text of `plan`: for each stratum what is recognised in it, its rules and how each is computed."""
    blocks = ["\n".join(stratum_lines(number, stratum, plan)) for number, stratum in enumerate(plan.strata, start=1)]
    if any(stratum.rounds for stratum in plan.strata):
        blocks.append(FOOTER)
    return "\n\n".join(blocks)


def stratum_lines(number: int, stratum: StratumPlan, plan: Plan) -> Iterator[str]:
    """The lines about one stratum."""
    about = ", recursive" if stratum.rounds else "" if stratum.once else ", given facts only"
    yield from wrapped(f"stratum {number}: {', '.join(stratum.relations)}{about}", 0)
    for relation in stratum.relations:
        if relation in plan.size_limits:
            yield f"  stops when {relation} has {plan.size_limits[relation]:,} rows"
    for closure in stratum.closures:
        yield f"  {closure_line(closure)}"
    if stratum.once and stratum.rounds:
        yield "  once"
    yield from rule_lines(stratum.once, 4 if stratum.rounds else 2)
    if stratum.rounds:
        yield "  each round"
    yield from rule_lines(stratum.rounds, 4)


def closure_line(closure: ClosureGroup) -> str:
    """`transitive closure of path over edge: rules 1, 2` or `symmetric transitive closure of same: eqrel`"""
    kind = "transitive closure" if closure.kind is ClosureKind.TRANSITIVE else "symmetric transitive closure"
    over = "" if closure.edges is None else f" over {closure.edges}"
    numbers = [str(number) for number in closure.rules if number > 0]
    rules = [f"rule{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"] if numbers else []
    declared = ["eqrel"] if len(numbers) < len(closure.rules) else []
    return f"{kind} of {closure.relation}{over}: {', '.join([*declared, *rules])}"


def rule_lines(rules: Iterable[RulePlan], indent: int) -> Iterator[str]:
    """Each rule with its place and text, once, and below it how each of its versions is computed."""
    shown: tuple[int, str] | None = None
    for rule in rules:
        if (rule.id, rule.head) != shown:
            shown = (rule.id, rule.head)
            place = f"{rule.span.file}:{rule.span.line}"
            name = f"rule {rule.id}, {place}" if rule.id > 0 else place
            yield from wrapped(f"{name}: {' '.join(rule.text.split())}", indent)
        hint = "" if rule.order is None else f" (.plan {', '.join(str(position + 1) for position in rule.order)})"
        yield from wrapped(print_rule_plan(rule) + hint, indent + 2)


def print_rule_plan(rule: RulePlan) -> str:
    """How a rule is computed, in a line: `path(x, y)Δ ⋈ edge(y, z) → path(x, z)`."""
    match rule.node:
        case Project(Values(rows=rows), _) if rows:
            return f"{len(rows):,} {'fact' if len(rows) == 1 else 'facts'} of the text → {rule.head}"
        case Project(source, columns):
            return f"{print_node(source)} → {rule.head}({', '.join(map(print_term, columns))})"
        case _:
            return f"{print_node(rule.node)} → {rule.head}"


def print_node(node: Node) -> str:
    """The operations of `node` in the order in which they run."""
    match node:
        case Scan(relation, columns, version):
            return f"{relation}({', '.join(map(column_text, columns))}){VERSION_MARKS[version]}"
        case Unit():
            return "true"
        case Values(_, _, rows):
            return f"{len(rows):,} rows" if rows else "nothing"
        case Join(left, right):
            return f"{print_node(left)} ⋈ {print_node(right)}"
        case Antijoin(left, right):
            return f"{print_node(left)} ▷ !{print_node(right)}"
        case Select(source, condition):
            return f"{before(source)}{print_literal(condition)}"
        case Extend(source, name, value):
            return f"{before(source)}{name} := {print_term(value)}"
        case Range(source, name, start, end, step):
            bounds = ", ".join(print_term(bound) for bound in (start, end, step) if bound is not None)
            return f"{before(source)}{name} in range({bounds})"
        case GroupJoin(left, right, keys, function, value, name):
            target = "" if value is None else f" {print_term(value)}"
            by = f" by {', '.join(keys)}" if keys else ""
            return f"{before(left)}{name} := {function.value}{target}{by} {{ {print_node(right)} }}"
        case Distinct(source, columns):
            return f"distinct {', '.join(columns)} of ({print_node(source)})"
        case Union(inputs, columns):
            return f"distinct {', '.join(columns)} of ({' ∪ '.join(map(print_node, inputs))})"
        case Project(source, columns):
            return f"{print_node(source)} → ({', '.join(map(print_term, columns))})"
        case _:
            assert_never(node)


def before(node: Node) -> str:
    """What stands in front of an operation on `node`."""
    return "" if isinstance(node, Unit) else f"{print_node(node)} | "


def column_text(column: str | Constant | None) -> str:
    """A column of a scan as it would stand in an atom."""
    if column is None:
        return "_"
    return column if isinstance(column, str) else print_term(column)


def wrapped(text: str, indent: int) -> list[str]:
    """`text` as lines of at most WIDTH letters, the ones after the first further in."""
    return fill(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    ).splitlines()
