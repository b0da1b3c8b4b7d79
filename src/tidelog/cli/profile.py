"""The cost of rules as a table."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.backends.protocol import RuleCost

HEADINGS = ("seconds", "share", "derived", "new", "duplicates", "tier", "rule")


def print_profile(costs: Sequence[RuleCost]) -> str:
    """One line for each rule, the dearest first, and why rules have no code of their own where that was asked."""
    total = sum(cost.seconds for cost in costs) or 1.0
    lines = [
        (
            f"{cost.seconds:.3f}",
            f"{cost.seconds / total:.0%}",
            f"{cost.derived:,}",
            f"{cost.new:,}",
            f"{cost.duplicates:,}",
            " then ".join(tier.value for tier in cost.tiers),
            f"{cost.span.line}: {' '.join(cost.text.split())}",
        )
        for cost in costs
    ]
    widths = [max(len(line[number]) for line in [HEADINGS, *lines]) for number in range(len(HEADINGS) - 1)]
    table = [_aligned(line, widths) for line in [HEADINGS, *lines]]
    reasons = [
        f"line {cost.span.line} runs as batches: {cost.why_not_pushed}"
        for cost in costs
        if cost.why_not_pushed is not None
    ]
    return "\n".join([*table, *reasons])


def _aligned(line: tuple[str, ...], widths: Sequence[int]) -> str:
    """Numbers to the right, words to the left."""
    numbers = [text.rjust(width) for text, width in zip(line[:5], widths[:5], strict=True)]
    return "  ".join([*numbers, line[5].ljust(widths[5]), line[6]])
