"""The text of a rewritten program: each rule with the rule of the user's that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.analysis.checked import CheckedProgram, SimpleRule
from tidelog.analysis.magic import Rewritten
from tidelog.analysis.magic_ends import BothEnds
from tidelog.language.printer import print_rule
from tidelog.language.syntax_tree import Atom, Rule
from tidelog.span import NOWHERE


def print_rewritten(rewritten: Rewritten) -> str:
    """The seed, then the rules by stratum, then what is computed in full and why."""
    lines = ["asked for", f"  {print_rule(Rule((rewritten.seed,)))}", *_strata(rewritten.checked)]
    lines += ["", f"answers are in {rewritten.answer}"]
    return "\n".join([*lines, *_left_alone(rewritten)])


def print_ends(ends: BothEnds, question: Atom) -> str:
    """The question, the rules of both sides, and when the search stops."""
    lines = ["asked for", f"  {print_rule(Rule((replace(question, relation=ends.asked),)))}", *_strata(ends.checked)]
    return "\n".join([*lines, "", f"the answer is yes where {ends.forth} and {ends.back} meet; either may end first"])


def _strata(checked: CheckedProgram) -> Iterator[str]:
    for number, stratum in enumerate(checked.strata, start=1):
        yield from ("", f"stratum {number}: {', '.join(stratum.relations)}")
        source = ""
        for rule in stratum.rules:
            if _source(rule) != source:
                source = _source(rule)
                yield f"  // {source}"
            yield f"  {print_rule(Rule((rule.head,), rule.body, rule.plan))}"


def _source(rule: SimpleRule) -> str:
    return rule.text if rule.span == NOWHERE else f"{rule.span}: {rule.text}"


def _left_alone(rewritten: Rewritten) -> Iterator[str]:
    for relation, reason in rewritten.left_alone.items():
        yield f"{relation} is computed in full: {reason}"
