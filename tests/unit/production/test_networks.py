"""What the strategies retain is kept true, not before its rule is tried: the tables of section 3.1 of the paper."""

from collections.abc import Iterable

from answers import checked_program
from production_answers import tuples
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.language.syntax_tree import Semantics
from tidelog.maintain.journal import Net
from tidelog.plan.retention.network import Retention, ways_to_try
from tidelog.production import Result, run_rules
from tidelog.production.network.difference_plans import with_marked
from tidelog.production.network.matching import Matcher, Orders
from tidelog.production.network.way_in_motion import WayInMotion
from tidelog.production.network.way_plans import plans_of_way
from tidelog.production.rule_plans import matches_of
from tidelog.schema import Row
from unit.production.paper_programs import FOUR_RULES, R1, R1_FACTS


def test_rete_retains_the_joins_of_table_2_and_follows_to_table_3_when_the_rule_is_tried() -> None:
    backend, rete = in_motion(R1, Retention.RETE, R1_FACTS)
    rete.changes()
    first = {(0, 2, 1), (2, 0, 0), (3, 2, 1)}
    instances = {(0, 2, 1, 1), (2, 0, 0, 3), (3, 2, 1, 1)}
    assert by_names(backend, "1.0@2", "xyz") == first
    assert by_names(backend, "1.0@3", "xyzw") == instances
    schema = checked_program(R1).schemas["C"]
    came = backend.facts("C", to_table([("gamma", 3, 1)], schema))
    went = backend.facts("C", to_table([("gamma", 2, 1)], schema))
    backend.exchange("C", came, went)
    rete.note({"C": Net(came, went)})
    assert by_names(backend, "1.0@3", "xyzw") == instances
    rete.changes()
    assert by_names(backend, "1.0@2", "xyz") == first
    assert by_names(backend, "1.0@3", "xyzw") == {(2, 0, 0, 3)}


def in_motion(text: str, retention: Retention, facts: dict[str, list[Row]]) -> tuple[LocalBackend, WayInMotion]:
    """The first rule of a program, tried by the first way of a strategy over these facts."""
    checked = checked_program(text)
    ((way, *_), *_) = ways_to_try(checked, retention).values()
    rule = checked.productions[0]
    (match,) = matches_of(rule, checked.schemas).matches
    made = [match.schema, *(node.schema for node in way.nodes)]
    schemas = with_marked({**checked.schemas, **{schema.relation: schema for schema in made}})
    backend = LocalBackend(checked.schemas)
    for relation, rows in facts.items():
        backend.insert(relation, to_table(rows, checked.schemas[relation]))
    plans = plans_of_way(way, rule, match, Semantics.INSTANCE, schemas)
    return backend, WayInMotion(plans, Matcher(backend, schemas, Orders()))


def by_names(backend: LocalBackend, relation: str, names: Iterable[str]) -> set[Row]:
    return set(tuples(backend.table(relation).select(list(names))))


def test_treat_retains_instances_and_cosma_what_section_5_4_says() -> None:
    assert retained(Retention.TREAT) == ["1.0@all", "2.0@all", "3.0@all", "4.0@all"]
    assert retained(Retention.COSMA) == ["1.0@T1", "3.0@T1"]
    assert retained(Retention.NONE) == []


def test_atreat_may_retain_the_atoms_that_have_constants() -> None:
    assert retained(Retention.ATREAT) == ["1.0@S1", "1.0@S2", "1.0@S3", "3.0@S1", "4.0@S2"]


def retained(retention: Retention) -> list[str]:
    """What is retained at first for the rules of example 5.1."""
    ways = ways_to_try(checked_program(FOUR_RULES), retention).values()
    return [node.relation for way, *_ in ways for node in way.nodes]


SELECTIONS = """
.production set
.decl p(k: symbol, x: number)
.decl q(x: number)
.decl step(n: number)
+q(x), +step(n), -step(m) :- p("few", x), p("many", y), y < 900, step(m), n = m + 1, n < 3.
"""


def test_atreat_retains_a_selection_only_where_it_leaves_little() -> None:
    rows: list[Row] = [("many", number) for number in range(1000)] + [("few", number) for number in range(10)]
    assert run(SELECTIONS, {"p": rows, "step": [(0,)]}, Retention.ATREAT).retained == 10


DISTANT = """
.production set
.decl at(n: number)
.decl big(x: number, y: number)
.decl hit(x: number)
+at(m), -at(n) :- at(n), m = n + 1, n < 40. [priority 1]
+hit(x) :- at(n), big(n, x), big(x, _).
"""


def test_a_rule_that_waits_is_brought_up_to_date_once() -> None:
    big: list[Row] = [(number, number % 50) for number in range(200)]
    result = run(DISTANT, {"at": [(0,)], "big": big}, Retention.TREAT)
    assert set(tuples(result.came["hit"])) == {(40,)}


def run(text: str, facts: dict[str, list[Row]], retention: Retention) -> Result:
    checked = checked_program(text)
    tables = {name: to_table(rows, checked.schemas[name]) for name, rows in facts.items()}
    return run_rules(checked, LocalBackend(checked.schemas), tables, retention=retention)
