"""Rules that one kernel runs pass through the states of the oracle, and the network of rules tells the same of them."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import assume, example, given
from hypothesis import strategies as st

from answers import checked_program
from production_answers import GOES_ROUND, Facts, rows_in, states_by_oracle, statuses, statuses_in
from production_oracle import State
from production_strategies import ARITIES, ProductionSample, production_programs, rows_of
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.errors import OscillationError
from tidelog.kernels import jit
from tidelog.maintain.protocol import Limits
from tidelog.plan.retention.network import Retention
from tidelog.production import Result, run_rules
from tidelog.production.at_once import run
from tidelog.production.at_once.encoding import encoded
from tidelog.production.at_once.run import run_at_once
from tidelog.production.cycle import finished, loaded
from tidelog.production.prepared import prepared
from unit.kernels.forms import TIERS, tier

DECLARATIONS = "".join(
    f".decl {name}({', '.join(f'{column}: number' for column in 'xyz'[:arity])})\n" for name, arity in ARITIES.items()
)


@given(production_programs("set"), st.sampled_from(TIERS))
def test_one_kernel_passes_through_the_states_of_the_oracle(sample: ProductionSample, form: str) -> None:
    check(sample.text, sample.facts, form)


@st.composite
def rules_that_compute(draw: st.DrawFn) -> str:
    """A rule with numbers that are computed, aggregates and variables that are bound in several ways."""
    name, arity = draw(st.sampled_from([*ARITIES.items()]))
    atoms = [f"{name}({', '.join(draw(st.sampled_from('xyx_2')) for _ in range(arity))})", "e(x, y)"]
    literals = draw(
        st.lists(
            st.sampled_from(
                [
                    "z = (x + 1) % 4",
                    "z = x * y - 1",
                    "z = count : { b(x, _) }",
                    "z = min w : { c(y, w), !a(w) }",
                    "z = max w + x : { b(w, u), d(u, _, y) }",
                    "z = sum w : { d(w, x, _), w != y }",
                    "z = y / x",
                    "2 = count : { b(_, _) }",
                    "x < y",
                    "x != count : { a(_) }",
                    "b(x, (y + 1) % 4)",
                    "!c((x + 2) % 4, y)",
                    "!b(x, _)",
                    "!d(y, _, x)",
                    "c(x, z)",
                    "d(x, y, y)",
                    "x = y",
                ]
            ),
            max_size=3,
            unique=True,
        )
    )
    body = [*atoms[: draw(st.integers(1, 2))], *literals]
    if body[0] == atoms[0]:
        body = [atoms[1], *body] if "e(x, y)" not in body else body
    terms = ["x", "y", "(x + y) % 4", "1"] + ["z", "(z + 1) % 4"] * any("z" in literal for literal in literals)
    heads = []
    for _ in range(draw(st.integers(1, 3))):
        name, arity = draw(st.sampled_from([each for each in ARITIES.items() if each[0] != "e"]))
        heads.append(
            f"{draw(st.sampled_from('+-'))}{name}({', '.join(draw(st.sampled_from(terms)) for _ in range(arity))})"
        )
    return f"{', '.join(heads)} :- {', '.join(draw(st.permutations(body)))}. [priority {draw(st.integers(0, 2))}]"


@given(
    st.lists(rules_that_compute(), min_size=1, max_size=4),
    st.fixed_dictionaries({name: rows_of(arity) for name, arity in ARITIES.items()}),
    st.sampled_from(TIERS),
)
@example(
    # a variable that has a value already is compared, not bound again
    ["+a(z) :- e(x, y), c(x, z), z = (x + 1) % 4. [priority 0]"],
    {"a": [], "b": [], "c": [(1, 3), (1, 2)], "d": [], "e": [(1, 1)]},
    "plain",
)
@example(
    # the fact stays while both ask for it, and comes when one ceases to
    ["+a(x), -a(y) :- b(x, y). [priority 1]", "-b(1, 2) :- b(1, 2), c(1, 1). [priority 0]"],
    {"a": [], "b": [(1, 2), (2, 3)], "c": [(1, 1)], "d": [], "e": []},
    "plain",
)
def test_one_kernel_computes_what_the_oracle_computes(rules: list[str], facts: Facts, form: str) -> None:
    check(".production set\n" + DECLARATIONS + "\n".join(rules), facts, form)


@given(production_programs("set"), st.sampled_from(TIERS), st.sampled_from([1, 2, 4]))
def test_what_is_too_much_at_once_goes_on_where_the_kernel_ended(
    sample: ProductionSample, form: str, most: int
) -> None:
    checked = checked_program(sample.text)
    expected = states_by_oracle(checked, sample.facts)
    room = {"_LEAST_ROOM": 1, "_SPARE_WORDS": 0, "_LOG_WORDS": 4, "_CYCLES": 1}
    small = {"MOST_ASKED": most, "MOST_STEPS": 8 * most, "MORE_STEPS": 8, "STEPS_OF_CHANGE": 1, **room}
    with tier(form), patch.multiple(run, **small), patch.object(jit, "is_compiled", lambda: True):
        result = result_or_error(checked, sample.facts, None)
    if isinstance(result, str):
        assert expected == GOES_ROUND
        assert result == result_or_error(checked, sample.facts, Retention.COSMA)
        return
    assert (result.cycles, last_state(result, expected[0])) == (len(expected) - 1, expected[-1])
    for fact in frozenset().union(*expected):
        assert statuses(result.read_chains(), fact, checked) == statuses_in([*expected], fact)


def result_or_error(checked: CheckedProgram, facts: Facts, retention: Retention | None) -> Result | str:
    try:
        return run_rules(checked, LocalBackend(checked.schemas), tables_of(checked, facts), retention=retention)
    except OscillationError as error:
        return str(error)


def check(text: str, facts: Facts, form: str) -> None:
    checked = checked_program(text)
    assume(encoded(checked) is not None)
    expected = states_by_oracle(checked, facts)
    with tier(form):
        result = result_at_once(checked, facts)
    if expected == GOES_ROUND:
        assert result is None
        return
    if result is None:
        return  # a state had the number of another one, or a rule computed what is no number of 64 bits
    assert (result.cycles, last_state(result, expected[0])) == (len(expected) - 1, expected[-1])
    others = run_rules(checked, LocalBackend(checked.schemas), tables_of(checked, facts), retention=Retention.NONE)
    for relation, row in frozenset().union(*expected):
        assert statuses(result.read_chains(), (relation, row), checked) == statuses_in([*expected], (relation, row))
        fact = to_table([row], checked.schemas[relation])
        assert result.read_chains().chain(relation, fact) == others.read_chains().chain(relation, fact)


def result_at_once(checked: CheckedProgram, facts: Facts) -> Result | None:
    backend, rules = LocalBackend(checked.schemas), encoded(checked)
    made = prepared(checked, Retention.NONE)
    assume(not made.has_followers)
    start = loaded(made, backend, tables_of(checked, facts), Limits())
    assert rules is not None
    logged = run_at_once(rules, start.facts, backend.values, Limits())
    return None if logged is None else finished(logged, backend)


def tables_of(checked: CheckedProgram, facts: Facts) -> dict[str, object]:
    return {name: to_table(list(rows), checked.schemas[name]) for name, rows in facts.items()}


def last_state(result: Result, first: State) -> State:
    return (first - rows_in(result.went)) | rows_in(result.came)
