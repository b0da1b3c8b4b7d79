"""What the strategies retain is kept true: the tables of section 3.1 of the paper, row by row."""

from collections.abc import Iterable

from answers import checked_program
from production_answers import tuples
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.maintain.journal import Net
from tidelog.maintain.materialization import Materialization
from tidelog.maintain.protocol import SILENT, Limits, Maintenance
from tidelog.plan.retention.network import Retention, with_retained_joins
from tidelog.production.support import supporting
from unit.production.paper_programs import FOUR_RULES, R1, R1_FACTS


def test_rete_retains_the_joins_of_table_2_and_follows_to_table_3() -> None:
    checked = with_retained_joins(checked_program(R1), Retention.RETE)
    backend = LocalBackend(checked.schemas)
    network = Materialization(supporting(checked), backend, Limits(), SILENT, Maintenance(modules=False))
    for relation, rows in R1_FACTS.items():
        network.load(relation, to_table(rows, checked.schemas[relation]))
    first = {(0, 2, 1), (2, 0, 0), (3, 2, 1)}
    assert by_names(network, "1.0@2", "xyz") == first
    assert by_names(network, "1.0@all", "xyzw") == {(0, 2, 1, 1), (2, 0, 0, 3), (3, 2, 1, 1)}
    came = backend.facts("C", to_table([("gamma", 3, 1)], checked.schemas["C"]))
    went = backend.facts("C", to_table([("gamma", 2, 1)], checked.schemas["C"]))
    network.exchange({"C": Net(came, went)})
    assert by_names(network, "1.0@2", "xyz") == first
    assert by_names(network, "1.0@all", "xyzw") == {(2, 0, 0, 3)}


def by_names(network: Materialization, relation: str, names: Iterable[str]) -> set[tuple[object, ...]]:
    return set(tuples(network.table(relation).select(list(names))))


def test_treat_retains_instances_and_cosma_what_section_5_4_says() -> None:
    checked = checked_program(FOUR_RULES)
    assert retained(Retention.TREAT) == ["1.0@all", "2.0@all", "3.0@all", "4.0@all"]
    assert retained(Retention.COSMA) == ["1.0@T1", "3.0@T1"]
    assert with_retained_joins(checked, Retention.NONE).strata == checked.strata


def retained(retention: Retention) -> list[str]:
    checked = checked_program(FOUR_RULES)
    return [name for name in with_retained_joins(checked, retention).schemas if name not in checked.schemas]
