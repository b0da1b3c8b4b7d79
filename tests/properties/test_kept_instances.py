"""Instances that are kept from try to try, as rows come and go under them, are those of the oracle in each state."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from answers import checked_program
from production_answers import states_by_engine, states_by_oracle
from tidelog.plan.retention.network import Retention

DECLARATIONS = """\
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number)
"""
RULES = (
    "+c(x), -c(y) :- a(x, z), b(x, y), c(y), x > y.",
    "-b(y, z) :- a(x, z), b(x, y), c(y).",
    "+c(y), -a(x, y) :- a(x, y), b(y, x).",
    "-a(x, y), +b(x, y) :- a(x, y), !b(y, x), c(x).",
    "-c(x) :- c(x), !a(x, _).",
    "-b(x, y) :- b(x, y), a(x, _), x < y.",
    "+a(x, z) :- a(x, y), b(y, z), !c(z).",
)
pairs = st.sets(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=9)


@settings(max_examples=60)
@given(
    st.sampled_from(["instance", "instance refraction"]),
    st.sets(st.sampled_from(RULES), min_size=1, max_size=3),
    pairs,
    pairs,
    st.sets(st.tuples(st.integers(1, 4))),
    st.sampled_from(Retention),
)
def test_instances_kept_from_try_to_try_are_those_of_the_oracle(
    semantics: str,
    rules: set[str],
    a: set[tuple[int, int]],
    b: set[tuple[int, int]],
    c: set[tuple[int]],
    retention: Retention,
) -> None:
    checked = checked_program(f".production {semantics}\n{DECLARATIONS}" + "\n".join(sorted(rules)))
    facts = {"a": sorted(a), "b": sorted(b), "c": sorted(c)}
    assert states_by_engine(checked, facts, retention) == states_by_oracle(checked, facts)
