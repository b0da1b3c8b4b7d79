"""Where rows are tested for being new (section 4 of the Push paper). Takes nodes, returns checks and cycles.

* Every stored relation has a check: its rows are a set.
* Without its checked relations, no cycle of the graph is left: so that evaluation ends.
* A pushed relation has a check where it is expected to pay: with statistics, by `duplicate_costs`; without, in front of
  a join where a rule drops a variable, because then several bodies give the same row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tidelog.analysis.dependencies import components
from tidelog.codegen.duplicate_costs import checks_that_pay
from tidelog.codegen.graph_nodes import Cycle, DuplicateCheck, FactNode, RuleNode
from tidelog.codegen.storage import Storage
from tidelog.plan.nodes import Range, Scan, Values
from tidelog.plan.spine import Source
from tidelog.plan.statistics import Statistics
from tidelog.plan.walk import columns_of, variables_of


def place_checks(
    facts: Sequence[FactNode], rules: Sequence[RuleNode], storage: Storage, statistics: Statistics | None
) -> tuple[dict[str, DuplicateCheck], tuple[Cycle, ...]]:
    """The check of each relation that has one, and the cycles among the nodes that are needed."""
    needed = [node for node in facts if not node.removed]
    present = {node.fact.relation for node in needed}
    reasons = {relation: [*found] for relation, found in storage.stored.items() if relation in present}
    if statistics is None:
        add_reasons(reasons, likely_duplicates(optional(needed, storage), rules))
    add_reasons(reasons, cycle_breakers(needed, rules, reasons))
    if statistics is not None:
        pushed = [node for node in optional(needed, storage) if node.fact.relation not in reasons]
        add_reasons(reasons, checks_that_pay(pushed, facts, rules, statistics))
    checks = {relation: DuplicateCheck(relation, tuple(found)) for relation, found in reasons.items()}
    return checks, tuple(cycles(needed, rules, checks))


def optional(facts: Sequence[FactNode], storage: Storage) -> list[FactNode]:
    """The facts of pushed relations that run in one phase. In a second one, a check would find all rows known."""
    return [node for node in facts if len(storage.phases.get(node.fact.relation, ())) == 1]


def add_reasons(reasons: dict[str, list[str]], found: Iterable[tuple[str, str]]) -> None:
    """Adds relations that have no reason yet, each with the first that was found."""
    for relation, reason in [*found]:
        reasons.setdefault(relation, [reason])


def cycle_breakers(
    facts: Sequence[FactNode], rules: Sequence[RuleNode], checked: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Relations to be checked, with the reason, until nothing leads back to itself.

    Of a cycle that is left, the relation is taken through which most applications go: it breaks the most cycles.
    """
    done = set(checked)
    while left := [group for group in groups(facts, rules, done) if len(group) > 1]:
        members = [node for node in facts if fact_key(node.number) in left[0]]
        ways: dict[str, int] = {}
        for node in members:
            inside = sum(rule_key(number) in left[0] for number in (*node.derived_by, *node.taken_by))
            ways[node.fact.relation] = ways.get(node.fact.relation, 0) + inside
        chosen = max(ways, key=lambda relation: ways[relation])
        done.add(chosen)
        around = " and ".join(ways) if len(ways) < 4 else f"{len(ways)} relations"
        yield chosen, f"ends the recursion of {around}"


def cycles(facts: Sequence[FactNode], rules: Sequence[RuleNode], checked: Collection[str]) -> Iterator[Cycle]:
    """The groups of nodes that lead to one another."""
    for group in groups(facts, rules, set()):
        members = [node for node in facts if fact_key(node.number) in group]
        if len(group) > 1:
            yield Cycle(
                tuple(node.number for node in members),
                tuple(node.number for node in rules if rule_key(node.number) in group),
                tuple(dict.fromkeys(node.fact.relation for node in members if node.fact.relation in checked)),
            )


def groups(facts: Sequence[FactNode], rules: Sequence[RuleNode], without: set[str]) -> list[frozenset[str]]:
    """The strongly connected components of the needed nodes, leaving out the facts of the relations `without`."""
    kept = [node for node in facts if node.fact.relation not in without]
    inside = {node.number for node in kept}
    graph: dict[str, list[str]] = {}
    for node in kept:
        graph[fact_key(node.number)] = [rule_key(number) for number in node.taken_by if not rules[number].removed]
    for rule in rules:
        if not rule.removed:
            graph[rule_key(rule.number)] = [fact_key(rule.result)] if rule.result in inside else []
    return [frozenset(group) for group in components(graph)]


def fact_key(number: int) -> str:
    return f"fact {number}"


def rule_key(number: int) -> str:
    return f"rule {number}"


def likely_duplicates(pushed: Sequence[FactNode], rules: Sequence[RuleNode]) -> Iterator[tuple[str, str]]:
    """Pushed relations that a rule fills after dropping a variable and another rule joins, with the reason."""
    for fact in pushed:
        dropping = [rules[number] for number in fact.derived_by if drops_variable(rules[number])]
        joining = [rules[number] for number in fact.taken_by if rules[number].sources and not rules[number].removed]
        if dropping and joining:
            yield (
                fact.fact.relation,
                f"rule {dropping[0].rule.label} drops a variable, and rule {joining[0].rule.label} joins what is left",
            )


def drops_variable(node: RuleNode) -> bool:
    """Whether bodies that differ only in what the head leaves out give the same row."""
    shown = {name for term in node.head for name in variables_of(term)}
    if node.taken is not None:
        known = {name for name in columns_of(node.taken) if name not in node.bound}
        if hides(node.taken, shown | known):
            return True
    return any(hides(source, shown) for source in node.sources)


def hides(source: Source, shown: set[str]) -> bool:
    """Whether `source` has a column that is not among the names `shown`."""
    match source:
        case Scan(columns=columns):
            return any(column is None or (isinstance(column, str) and column not in shown) for column in columns)
        case Range(name=name):
            return name not in shown
        case Values(columns=columns):
            return not set(columns) <= shown
        case _:
            return not set(columns_of(source)) <= shown
