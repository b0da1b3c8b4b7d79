"""What Spark shows of a job of Tidelog's: the relation and the rules it is for, each with its place in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession

from tidelog.plan.nodes import RulePlan, StratumPlan

MOST = 400
"""How long a description may be; the rest is dots."""

_DESCRIPTION = "spark.job.description"


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """A block whose jobs have `text` as their description, and as a tag where the session is one of Spark Connect."""
    shown = text if len(text) <= MOST else f"{text[:MOST]}…"
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none
    if context is None:
        tag = shown.replace(",", ";")  # Spark joins tags by commas
        spark.addTag(tag)
        try:
            yield
        finally:
            spark.removeTag(tag)
        return
    before = context.getLocalProperty(_DESCRIPTION)
    context.setJobDescription(shown)
    try:
        yield
    finally:
        context.setJobDescription(before)


def of_rules(rules: Sequence[RulePlan]) -> str:
    """The description of a job that runs `rules`, which have one head; versions of one rule are named once."""
    named = dict.fromkeys(f"{rule.span}: {rule.text}" for rule in rules)
    return f"{rules[0].head}: {' | '.join(named)}"


def of_stratum(stratum: StratumPlan) -> str:
    """The description of jobs that derive all of a stratum."""
    rules = dict.fromkeys(f"{rule.span}: {rule.text}" for rule in (*stratum.once, *stratum.first, *stratum.rounds))
    return f"{', '.join(stratum.relations)}: {' | '.join(rules) or 'closure'}"
