"""What tries cost changes what is retained for a rule between cycles, and a trace says so."""

from collections.abc import Callable, Mapping, Sequence

from answers import checked_program
from production_answers import tuples
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.protocol import Part, Watch, unwatched
from tidelog.connectors.frames import to_table
from tidelog.facts.fact_set import FactSet
from tidelog.plan.nodes import RulePlan
from tidelog.plan.retention.network import Retention
from tidelog.plan.walk import relations_read
from tidelog.production import Firing, Result, run_rules
from tidelog.production.firing import print_firing
from tidelog.schema import Row, Schema

STEPS = """
.production set
.decl at(n: number)
.decl from(n: number, x: number)
.decl to(x: number, y: number)
.decl seen(n: number, y: number)
+seen(n, y) :- at(n), from(n, x), to(x, y). [name looks, priority 1]
+at(m), -at(n) :- at(n), m = n + 1, n < 200. [name steps]
"""

FACTS: dict[str, list[Row]] = {
    "at": [(0,)],
    "from": [(number, number % 7) for number in range(200)],
    "to": [(number, number + 1) for number in range(7)],
}


class Priced(LocalBackend):
    """A backend where running a plan costs what somebody says about the relations it reads."""

    def __init__(self, schemas: Mapping[str, Schema], price: Callable[[frozenset[str]], float]) -> None:
        super().__init__(schemas)
        self._price = price
        self._paid = 0.0

    def collect(self, rules: Sequence[RulePlan], watch: Watch = unwatched) -> Mapping[str, FactSet]:
        self._pay(rules)
        return super().collect(rules, watch)

    def collect_parts(self, rules: Sequence[RulePlan], parts: Sequence[Part]) -> tuple[FactSet, ...]:
        self._pay(rules)
        return super().collect_parts(rules, parts)

    def _pay(self, rules: Sequence[RulePlan]) -> None:
        self._paid += sum(self._price(relations_read(rule.node)) for rule in rules)

    def effort(self) -> float:
        return self._paid


def run(price: Callable[[frozenset[str]], float]) -> tuple[Result, list[str]]:
    """What the rules did, and the trace."""
    checked = checked_program(STEPS)
    tables = {name: to_table(rows, checked.schemas[name]) for name, rows in FACTS.items()}
    lines: list[str] = []

    def hear(firing: Firing) -> None:
        lines.extend(print_firing(firing))

    backend = Priced(checked.schemas, price)
    result = run_rules(checked, backend, tables, retention=Retention.COSMA, on_firing=hear)
    assert set(tuples(result.came["seen"])) == {(number, number % 7 + 1) for number in range(200)}
    return result, lines


def test_a_join_that_costs_more_than_it_saves_is_dropped() -> None:
    result, lines = run(lambda read: 0.01 if any("@T" in name for name in read) else 0.001)
    (switch,) = result.switches
    assert (switch.rule.name, switch.retained, result.retained) == ("looks", (), 0)
    (line,) = (line for line in lines if line.startswith("from now on"))
    assert line.startswith("from now on looks retains no join: ")


def test_a_join_that_saves_what_it_costs_is_kept() -> None:
    result, lines = run(lambda read: 0.01 if "from" in read else 0.001)
    assert result.switches == ()
    assert result.retained == 200
    assert not any(line.startswith("from now on") for line in lines)
