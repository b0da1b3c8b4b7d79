"""What rules for one head derive, in as few jobs as can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from tidelog.backends.spark.body_rows import WHY, Run
from tidelog.backends.spark.facts import SparkFacts, counted, near_facts
from tidelog.backends.spark.layout import SPARK_TYPES
from tidelog.backends.spark.store import Store, StoredRelation
from tidelog.backends.spark.translate import Derivation, translate
from tidelog.errors import EvaluationError
from tidelog.facts.columns import column_of, values_of
from tidelog.language.syntax_tree import Variable
from tidelog.plan.differentiate import joined_scans
from tidelog.plan.nodes import Project, RulePlan, Scan, Values, Version
from tidelog.plan.walk import scans_of
from tidelog.schema import Kind

_FROM = "t_from"
"""The column that says which rule a row comes from; below 0 it counts failures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Facts that rules derive, and how many of them are due to each rule."""

    facts: SparkFacts
    counts: tuple[tuple[RulePlan, int], ...]


def answers(rules: Sequence[RulePlan], store: Store, known: StoredRelation | None) -> Iterator[Answer]:
    """What `rules`, which have one head, derive from what is stored; without what is stored or staged in `known`."""
    head = store.relations[rules[0].head]
    rules = [rule for rule in rules if _may_derive(rule, store)]
    at_hand = [(rule, facts) for rule in rules if (facts := _at_hand(rule, head, store)) is not None]
    if at_hand:
        facts = reduce(SparkFacts.union, [each for _, each in at_hand])
        yield Answer(_unknown(facts, known), tuple((rule, len(each)) for rule, each in at_hand))
        rules = [rule for rule in rules if all(rule is not other for other, _ in at_hand)]
    if not rules:
        return
    is_near = _are_all_near(rules, store)
    derived = [translate(rule, store, is_near=is_near) for rule in rules]
    together = _together(derived, head)
    kinds = (*head.kinds, Kind.NUMBER)
    if is_near and (known is None or known.is_near):
        most = store.jobs.settings.near_rows
        rows = store.jobs.fetch(together.coalesce(1).limit(most + 1), kinds)
        if rows.num_rows <= most:
            yield _near_answer(rows, derived, head, store, known)
            return
    yield _far_answer(together, derived, head, store, known)


def _may_derive(rule: RulePlan, store: Store) -> bool:
    """Whether each relation that the rule joins has rows."""
    return all(store.rows(scan.relation, scan.version) for scan in joined_scans(rule.node))


def _at_hand(rule: RulePlan, head: StoredRelation, store: Store) -> SparkFacts | None:
    """The facts of a rule that states rows of the text or copies rows that are in the driver; None for other rules."""
    assert isinstance(rule.node, Project)
    terms = rule.node.columns
    names = [term.name for term in terms if isinstance(term, Variable)]
    if not terms or len(names) < len(terms):
        return None
    match rule.node.input:
        case Values(columns, kinds, rows):
            found = [column_of(kind, [row[number] for row in rows]) for number, kind in enumerate(kinds)]
        case Scan(relation, columns, Version.FULL) if (
            len(set(columns)) == len(columns) == sum(isinstance(column, str) for column in columns)
        ):
            copied = store.relations[relation].facts().rows
            if copied is None:
                return None
            found = copied.columns
        case _:
            return None
    table = pa.Table.from_arrays([found[columns.index(name)] for name in names], names=list(head.names))
    return near_facts(store.jobs, head.kinds, table)


def _unknown(facts: SparkFacts, known: StoredRelation | None) -> SparkFacts:
    return facts if known is None else known.unknown(facts).minus(known.staged)


def _are_all_near(rules: Sequence[RulePlan], store: Store) -> bool:
    return all(store.is_near(scan.relation, scan.version) for rule in rules for scan in scans_of(rule.node))


def _together(derived: Sequence[Derivation], head: StoredRelation) -> DataFrame:
    """All rows, with what they come from; a failure is a row without values."""
    nulls = [
        sql.lit(None).cast(SPARK_TYPES[kind]).alias(name) for name, kind in zip(head.names, head.kinds, strict=True)
    ]
    frames = []
    failed = 0
    for number, each in enumerate(derived):
        frames.append(each.frame.withColumn(_FROM, sql.lit(number).cast("long")))
        for failure in each.failures:
            failed += 1
            assert failure.rows.frame is not None
            frames.append(failure.rows.frame.select(*nulls, sql.lit(-failed).cast("long").alias(_FROM)))
    return reduce(DataFrame.unionByName, frames)


def _near_answer(
    rows: pa.Table, derived: Sequence[Derivation], head: StoredRelation, store: Store, known: StoredRelation | None
) -> Answer:
    froms: list[int] = values_of(rows.column(_FROM))  # type: ignore[assignment]
    if froms and min(froms) < 0:
        _raise(derived, min(froms), store)
    counts = Counter(froms)
    facts = near_facts(store.jobs, head.kinds, rows.select(list(head.names)))
    return Answer(_unknown(facts, known), tuple((each.rule, counts[n]) for n, each in enumerate(derived) if counts[n]))


def _far_answer(
    together: DataFrame, derived: Sequence[Derivation], head: StoredRelation, store: Store, known: StoredRelation | None
) -> Answer:
    jobs = store.jobs
    names = list(head.names)
    frame = together.groupBy(*names).agg(sql.min(_FROM).alias(_FROM))
    if known is not None and known.count:
        frame = frame.join(known.full.select(*names), names, "left_anti")
    if known is not None and len(known.staged):
        frame = frame.join(known.staged.frame, names, "left_anti")
    kept = jobs.keep(frame)
    sizes = jobs.fetch(kept.groupBy(_FROM).count(), (Kind.NUMBER, Kind.NUMBER))
    counts = dict(zip(*(column.to_pylist() for column in sizes.columns), strict=True))
    if any(number < 0 for number in counts):
        _raise(derived, min(counts), store)
    facts = counted(jobs, head.kinds, kept.select(*names), sum(counts.values()))
    return Answer(facts, tuple((each.rule, counts[n]) for n, each in enumerate(derived) if n in counts))


def _raise(derived: Sequence[Derivation], number: int, store: Store) -> None:
    """Raises what a failure says; the job that found it only counted."""
    failures = [(each.rule, failure) for each in derived for failure in each.failures]
    rule, failure = failures[-number - 1]
    names = tuple(sorted(failure.rows.names))
    run = Run(store, rule)
    rows = store.jobs.fetch(failure.rows.select(names).rows(run).limit(1), tuple(map(run.kind, names)))
    row = dict(zip(names, (column[0].as_py() for column in rows.columns), strict=True))
    place, _, reason = str(row[WHY]).partition(" ")
    raise EvaluationError(f"{reason}{_example(row, rule)} in the rule {rule.text}", failure.spans[int(place)])


def _example(row: dict[str, object], rule: RulePlan) -> str:
    """The values of the user's variables."""
    shown = [f"{name} = {value!r}" for name, value in row.items() if name.isidentifier() and name in rule.kinds]
    return f" for {', '.join(shown)}" if shown else ""
