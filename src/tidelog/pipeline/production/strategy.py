"""How the production rules of a program run on Spark: takes the program and sizes, returns a choice with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.analysis.checked import CheckedProgram
from tidelog.errors import UsageError
from tidelog.language.syntax_tree import Semantics
from tidelog.pipeline.production.placement import AT_ONE_PLACE, Placement, place
from tidelog.plan.placement import EVERYWHERE, UNKNOWN_SIZE, WHOLE_ROW
from tidelog.plan.reduction import Bounds, Strategy
from tidelog.production.support import relations_needed


@dataclass(frozen=True, slots=True)
class ProductionReduction:
    """The strategy for the production rules of a program, with a reason in words. ALONE has no placement.

    SYNCHRONOUS: one exchange for each cycle. ASYNCHRONOUS: a partition runs ahead, and news about cycles that it has
    behind it revises them; it is for programs with rules that can go on where they are.
    """

    strategy: Strategy
    partitions: int
    reason: str
    placement: Placement | None = None


def choose(
    checked: CheckedProgram,
    sizes: Mapping[str, int],
    *,
    partitions: int = 2,
    forced: Strategy | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008  frozen
) -> ProductionReduction:
    """How to run the production rules of `checked`. `sizes` has the rows of relations, as far as known.

    Of what may be `forced`, only ALONE, SYNCHRONOUS and ASYNCHRONOUS are about production rules.
    """
    assert checked.semantics is not None
    shared = forced if forced in (Strategy.SYNCHRONOUS, Strategy.ASYNCHRONOUS) else None
    if checked.semantics.semantics is not Semantics.PARALLEL:
        reason = f"{_what_fires(checked.semantics.semantics)} in a cycle, so there is nothing to share"
        if shared is not None:
            raise UsageError(f"the production rules cannot be run by the strategy {shared.value}: {reason}")
        return ProductionReduction(Strategy.ALONE, 1, reason)
    rows = sum(sizes.get(name, UNKNOWN_SIZE) for name in relations_needed(checked))
    if forced is Strategy.ALONE:
        return ProductionReduction(Strategy.ALONE, 1, "asked for")
    if shared is None and partitions == 1:
        return ProductionReduction(Strategy.ALONE, 1, "there is one partition")
    if shared is None and sizes and rows <= bounds.one_task:
        return ProductionReduction(Strategy.ALONE, 1, f"{rows:,} rows are not worth the exchanges")
    placement = place(checked, sizes, partitions)
    if shared is None and all(variable == AT_ONE_PLACE for variable in placement.variables):
        return ProductionReduction(Strategy.ALONE, 1, "no rule has a variable by which it could be shared")
    if shared is not None:
        return ProductionReduction(shared, partitions, "asked for", placement)
    if any(placement.stays_home(position) for position in range(len(placement.rules))):
        reason = "partitions run ahead, late news revises what they did"
        return ProductionReduction(Strategy.ASYNCHRONOUS, partitions, reason, placement)
    reason = "all that rules ask for goes to other partitions"
    return ProductionReduction(Strategy.SYNCHRONOUS, partitions, reason, placement)


def print_production(checked: CheckedProgram, reduction: ProductionReduction) -> str:
    """Lines about a choice: the strategy and why, what restricts each rule, and who has which facts."""
    assert checked.semantics is not None
    lines = [
        f"  production rules ({checked.semantics.semantics.value}): {reduction.strategy.value}: {reduction.reason}"
    ]
    if reduction.placement is not None:
        lines += _rule_lines(reduction.placement)
        lines += _relation_lines(reduction.placement, checked)
    return "\n".join(lines)


def _what_fires(semantics: Semantics) -> str:
    return "one rule fires" if semantics is Semantics.SET else "one instance of a rule fires"


def _rule_lines(placement: Placement) -> Iterator[str]:
    for each, variable in zip(placement.rules, placement.variables, strict=True):
        shared = "in one partition" if variable == AT_ONE_PLACE else f"shared by {variable}"
        yield f"    {each.rule.span.line}: {' '.join(each.rule.text.split())}  ({shared})"


def _relation_lines(placement: Placement, checked: CheckedProgram) -> Iterator[str]:
    for name in sorted(placement.ways):
        if name in placement.derived:
            yield f"    {name}: derived in every partition"
            continue
        names = checked.schemas[name].names
        ways = {EVERYWHERE: "in every partition", WHOLE_ROW: "by all columns"}
        yield f"    {name}: {' and '.join(ways.get(way) or f'by {names[way]}' for way in placement.homes(name))}"
