"""Relations that are never stored change nothing about those that are asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from answers import Failure, by_engine, by_oracle, checked_program, stored_relations
from strategies import Sample, programs
from tidelog.codegen.pushed_relations import pushed_relations, without_intermediates

CHAIN = """
.decl edge(x: number, y: number)
.decl loop(x: number, y: number)
.decl short(x: number, y: number)
.decl turned(x: number, y: number)
.decl start(x: number)
.decl far(x: number, y: number)
.input edge
.output far
loop(x, y) :- edge(x, y), x <= y.
short(x, y) :- loop(x, y), y < 7.
turned(y, x) :- short(x, y).
start(x) :- edge(x, _).
far(x, z) :- turned(x, y), edge(y, z), start(z).
"""


@given(programs(), st.data())
def test_what_is_asked_for_is_the_same(sample: Sample, data: st.DataObject) -> None:
    stored = stored_relations(checked_program(sample.text).program)
    wanted = data.draw(st.sampled_from(sorted(stored)))
    inputs = "\n".join(f".input {name}" for name in sample.facts if name in stored)
    checked = checked_program(f"{sample.text}{inputs}\n.output {wanted}\n")
    expected = by_oracle(checked, sample.facts)
    found = by_engine(without_intermediates(checked), sample.facts)
    if isinstance(expected, Failure) or isinstance(found, Failure):
        assert found == expected
    else:
        assert found[wanted] == expected[wanted]


def test_what_gives_no_row_twice_and_is_read_once_is_not_stored() -> None:
    checked = checked_program(CHAIN)
    assert pushed_relations(checked) == {"loop", "short", "turned"}
    assert sum(len(stratum.rules) for stratum in without_intermediates(checked).strata) == 2


def test_a_program_that_asks_for_everything_stays_as_it_is() -> None:
    checked = checked_program(CHAIN.replace(".output far\n", ""))
    assert without_intermediates(checked) is checked
