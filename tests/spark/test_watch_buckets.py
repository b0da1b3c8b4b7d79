"""What buckets tell together is what the oracle has more and less after a batch, whatever is lost in between."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import evaluate
from properties.test_watch import ARITIES, programs, scripts
from tidelog.analysis.check import check
from tidelog.connectors.python_rows import rows_of, table_of_rows
from tidelog.errors import ProgramError, UsageError
from tidelog.language.parser import parse
from tidelog.pipeline.watching import processor
from tidelog.pipeline.watching.bucket import SIGN, chunk_of, facts_left
from tidelog.pipeline.watching.processor import BucketProcessor
from tidelog.pipeline.watching.script import Script, facts_of_text, script_of

BUCKETS = 3
DECLARED = """
.decl near(person: symbol, device: number)
.decl uses(person: symbol, device: number)
.decl request(device: number)
.decl alert(person: symbol)
.decl pair(device: number, a: symbol, b: symbol)
"""


@dataclass
class Kept:
    """The state of one bucket, as Spark keeps it: a list and a value."""

    log: list[tuple[str, str, int, bytes]] = field(default_factory=list)
    mark: list[tuple[str, int, int]] = field(default_factory=list)


class StateHandle:
    """What Spark hands to a processor, over the state of the bucket at work."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept

    def getListState(self, _name, _schema):  # noqa: N802
        return LogState(self.kept)

    def getValueState(self, _name, _schema):  # noqa: N802
        return MarkState(self.kept)


@dataclass
class LogState:
    kept: Kept

    def get(self):
        return iter(self.kept.log)

    def put(self, entries):
        self.kept.log = list(entries)

    def appendList(self, entries):  # noqa: N802
        self.kept.log += entries

    def clear(self):
        self.kept.log = []


@dataclass
class MarkState:
    kept: Kept

    def get(self):
        return self.kept.mark[0] if self.kept.mark else None

    def update(self, mark):
        self.kept.mark = [mark]

    def clear(self):
        self.kept.mark = []


class Buckets:
    """All buckets of a script, and what Spark would have stored of them."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.kept = {bucket: Kept() for bucket in range(script.buckets)}
        processor._live.clear()

    def take(self, changes):
        """The rows of `q` that appear and those that vanish with all `changes`: relations, rows and signs."""
        arriving = {bucket: [] for bucket in self.kept}
        for relation, row, sign in changes:
            schema = self.script.schemas[relation]
            for bucket, rows in self.script.shares(relation, table_of_rows([row], schema)):
                arriving[bucket].append(chunk_of(schema, sign, rows))
        appeared, vanished = [], []
        for bucket, chunks in arriving.items():
            if chunks:
                at_work = BucketProcessor(self.script, "stream")
                at_work.init(StateHandle(self.kept[bucket]))
                for found in at_work.handleInputRows((bucket,), iter(chunks), None):
                    rows = pa.ipc.open_stream(found.rows).read_all()
                    signs = rows.column(SIGN).to_pylist()
                    plain = rows_of(rows.drop_columns([SIGN])) if rows.num_columns > 1 else [()] * len(signs)
                    for row, sign in zip(plain, signs, strict=True):
                        (appeared if sign > 0 else vanished).append(row)
        return sorted(appeared), sorted(vanished)


@settings(max_examples=120)
@given(programs(), scripts, st.lists(st.integers(0, 25), max_size=4), st.data())
def test_buckets_together_tell_what_the_oracle_has_more_and_less(text, script, cuts, data):
    checked = check(parse(text))
    buckets = Buckets(script_of(checked, ["q"], BUCKETS))
    facts = {relation: set() for relation in ARITIES}
    before = evaluate(checked, facts)["q"]
    places = sorted({0, len(script), *(cut for cut in cuts if cut < len(script))})
    for begin, end in pairwise(places):
        batch = script[begin:end]
        changes = [(relation, row, 1 if comes else -1) for (relation, row), comes in batch]
        fate = data.draw(st.sampled_from(["well", "fails first", "other worker", "brought together"]))
        if fate == "fails first":
            stored = deepcopy(buckets.kept)
            buckets.take(changes)
            buckets.kept = stored
        if fate == "other worker":
            processor._live.clear()
        if fate == "brought together":
            for kept in buckets.kept.values():
                kept.mark = [(last, 2**40, 0) for last, _, _ in kept.mark]
        found = buckets.take(changes)
        if fate == "brought together":
            processor._live.clear()
        for comes in (False, True):  # what a batch brings and takes is there afterwards
            for (relation, row), does in batch:
                if does is comes:
                    (facts[relation].add if comes else facts[relation].discard)(row)
        now = evaluate(checked, facts)["q"]
        assert found == (sorted(now - before), sorted(before - now))
        before = now


def test_a_log_brought_together_has_what_came_last():
    schemas = check(parse(DECLARED)).schemas
    changes = [("request", 1, 1), ("request", 1, 2), ("request", -1, 1), ("request", -1, 3), ("request", 1, 3)]
    log = [chunk_of(schemas[name], sign, table_of_rows([(one,)], schemas[name])) for name, sign, one in changes]
    (left,) = facts_left(log)
    assert (left.relation, left.sign, rows_of(left.table(schemas))) == ("request", 1, [(2,), (3,)])
    assert facts_left(log[:1] + log[2:3]) == []


def test_tuples_go_by_a_column_that_says_where_the_head_belongs():
    rules = "alert(p) :- near(p, d), uses(p, d), request(d).\npair(d, a, b) :- uses(a, d), uses(b, d), a != b.\n"
    bucketing = script_of(check(parse(DECLARED + rules)), ["alert"], BUCKETS).bucketing
    assert bucketing.heads == {"alert": 0}
    assert bucketing.relations == {"near": 0, "uses": 0, "request": None}
    bucketing = script_of(check(parse(DECLARED + rules)), ["pair"], BUCKETS).bucketing
    assert (bucketing.heads, bucketing.relations) == ({"pair": 0}, {"uses": 1})


def test_what_a_bucket_has_not_in_its_tuples_is_refused():
    rules = "pair(d, a, a) :- near(a, d).\nalert(p) :- pair(_, p, _), near(p, _).\n"
    with pytest.raises(ProgramError, match=r"'pair' is derived by rules.*\n.*\n.*\n  hint: leave \[watch\] out"):
        script_of(check(parse(DECLARED + rules)), ["alert"], BUCKETS)
    computing = "alert(p) :- near(p, _), strlen(p) > 3.\n"
    with pytest.raises(ProgramError, match=r"cannot compute 'strlen'\n.*\n.*\n  hint: leave \[watch\] out"):
        script_of(check(parse(DECLARED + computing)), ["alert"], BUCKETS)
    with pytest.raises(UsageError, match=r"outputs\.alert: no rule fills it"):
        script_of(check(parse(DECLARED)), ["alert"], BUCKETS)
    acting = ".production set\n+alert(p) :- near(p, _), uses(p, _).\n"
    with pytest.raises(UsageError, match="rules that act cannot be watched"):
        script_of(check(parse(DECLARED + acting)), ["alert"], BUCKETS)


def test_facts_of_the_text_are_found():
    facts = facts_of_text(check(parse(DECLARED + 'request(1).\nrequest(2).\nnear("ann", -1).\n')))
    assert {name: sorted(rows_of(rows)) for name, rows in facts.items()} == {
        "request": [(1,), (2,)],
        "near": [("ann", -1)],
    }
