"""Takes a checked program, returns its rule application graph: the fixpoint of section 5.3 of the Push paper.

A rule is applied to every symbolic fact that its derived literal unifies with, and what it derives is a symbolic fact
again, until there are no new ones. `storage` says which literals take facts; the others read stored rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.analysis.checked import CheckedProgram
from tidelog.codegen.duplicate_checks import place_checks
from tidelog.codegen.graph_nodes import ApplicationGraph, FactNode, Phase, RuleNode
from tidelog.codegen.graph_rules import GraphProgram, graph_program
from tidelog.codegen.rule_application import Application, Columns, Site, apply_rule, body_of
from tidelog.codegen.storage import Storage, choose_storage
from tidelog.codegen.symbolic import SymbolicFact
from tidelog.codegen.useless_nodes import mark_useless
from tidelog.plan.differentiate import differentiate
from tidelog.plan.nodes import Scan, Version
from tidelog.plan.spine import flatten
from tidelog.plan.statistics import Statistics

MOST_FACTS = 16
"""A relation with more symbolic facts is generalised: each is code of its own, and known values no longer pay."""


def application_graph(
    checked: CheckedProgram,
    *,
    wanted: frozenset[str] | None = None,
    given: frozenset[str] | None = None,
    statistics: Statistics | None = None,
    columns: Columns = Columns.OF_RELATION,
    most_facts: int = MOST_FACTS,
) -> ApplicationGraph:
    """The rule application graph of `checked`.

    `wanted` are the relations whose rows are asked for (None: those of `.output` and `.printsize`, or every relation
    where there are none), `given` those that have rows from outside (None: those of `.input`). Without `statistics`,
    duplicate checks are placed by the form of the rules. `columns` says what holds the rows of stored relations: with
    OF_RULES the graph is that of the paper; OF_RELATION has far fewer nodes, and copies no more, as such rows are
    copied into a set anyway. Pushed relations are always as in the paper.
    """
    asked = asked_relations(checked) if wanted is None else wanted
    outside = input_relations(checked) if given is None else given
    program = graph_program(checked, outside)
    storage = choose_storage(program, asked)
    found = fixpoint(program, storage, columns, most_facts)
    facts, rules = mark_useless(found.fact_nodes(), tuple(found.rules), asked)
    checks, cycles = place_checks(facts, rules, storage, statistics)
    applied = {node.rule.label for node in rules}
    return ApplicationGraph(
        {**program.plan.schemas, **program.plan.hidden},
        asked,
        facts,
        rules,
        storage.stored,
        checks,
        cycles,
        tuple(phases(facts, rules, storage)),
        tuple(rule for rule in program.rules if rule.label not in applied),
    )


def asked_relations(checked: CheckedProgram) -> frozenset[str]:
    """The relations of `.output` and `.printsize`; every relation where there are none."""
    named = frozenset(name for directive in checked.outputs for name in directive.relations)
    return named or frozenset(checked.schemas)


def input_relations(checked: CheckedProgram) -> frozenset[str]:
    """The relations of `.input`."""
    return frozenset(name for directive in checked.inputs for name in directive.relations)


def fixpoint(program: GraphProgram, storage: Storage, columns: Columns, most_facts: int) -> Growth:
    """All symbolic facts and rule applications.

    It ends: a relation with too many facts starts over, first with variables of its own, then without known values.
    """
    forms = dict.fromkeys(storage.stored, columns)
    crowded: dict[str, str] = {}
    while True:
        growth = Growth(program, storage, dict(forms), dict(crowded))
        relation = grow(growth, most_facts)
        if relation is None:
            return growth
        if growth.columns(relation) is Columns.OF_RULES:
            forms[relation] = Columns.OF_RELATION
            crowded[relation] = f"for the variables of rules it would have more than {most_facts} symbolic facts"
        else:
            forms[relation] = Columns.GENERALISED
            crowded[relation] = f"for its known values it would have more than {most_facts} symbolic facts"


@dataclass(slots=True)
class Growth:
    """The graph while it grows.

    `forms` says what holds the columns of each relation, if not variables of rules; `crowded` why, for those that would
    have too many symbolic facts.
    """

    program: GraphProgram
    storage: Storage
    forms: Mapping[str, Columns]
    crowded: Mapping[str, str]
    facts: dict[SymbolicFact, int] = field(default_factory=dict)
    rules: list[RuleNode] = field(default_factory=list)

    def fact_nodes(self) -> tuple[FactNode, ...]:
        """The fact nodes with their edges."""
        derived: dict[int, list[int]] = {}
        taken: dict[int, list[int]] = {}
        for node in self.rules:
            derived.setdefault(node.result, []).append(node.number)
            if node.fact is not None:
                taken.setdefault(node.fact, []).append(node.number)
        return tuple(
            FactNode(
                number,
                fact,
                tuple(derived.get(number, ())),
                tuple(taken.get(number, ())),
                self.crowded.get(fact.relation, ""),
            )
            for fact, number in self.facts.items()
        )

    def columns(self, relation: str) -> Columns:
        """What holds the columns of `relation`."""
        return self.forms.get(relation, Columns.OF_RULES)


def grow(growth: Growth, most_facts: int) -> str | None:
    """None when `growth` has become complete; else the relation that has more than `most_facts` symbolic facts."""
    sites = list(all_sites(growth.program, growth.storage))
    counts: dict[str, int] = {}
    pending: list[SymbolicFact] = []
    for site in sites:
        if site.position is None:
            add(growth, site, None, pending)
    takers: dict[str, list[Site]] = {}
    for site in sites:
        if site.taken is not None:
            takers.setdefault(site.taken.relation, []).append(site)
    for fact in pending:  # grows while it is read
        counts[fact.relation] = counts.get(fact.relation, 0) + 1
        if counts[fact.relation] > most_facts:
            return fact.relation
        for site in takers.get(fact.relation, ()):
            add(growth, site, fact, pending)
    return None


def add(growth: Growth, site: Site, fact: SymbolicFact | None, pending: list[SymbolicFact]) -> None:
    """Adds the application of a rule to `fact`, if there is one; a result that is new goes to `pending`."""
    head = site.rule.plan.head
    application = apply_rule(site, fact, growth.program.plan.schemas[head], growth.columns(head))
    if application is None:
        return
    if application.result not in growth.facts:
        growth.facts[application.result] = len(growth.facts)
        pending.append(application.result)
    number = None if fact is None else growth.facts[fact]
    growth.rules.append(rule_node(len(growth.rules), site, number, growth.facts[application.result], application))


def rule_node(number: int, site: Site, fact: int | None, result: int, application: Application) -> RuleNode:
    """The node of an application."""
    return RuleNode(
        number,
        site.rule,
        fact,
        application.taken,
        application.checks,
        application.copies,
        application.conflict,
        application.bound,
        application.sources,
        application.conditions,
        application.sets,
        application.head,
        application.assignments,
        result,
    )


def all_sites(program: GraphProgram, storage: Storage) -> Iterator[Site]:
    """Every place where a rule takes facts, and rules that take none. A recursive rule has one for each literal."""
    for rule in program.rules:
        versions = differentiate(rule.plan, program.recursive[rule.stratum])
        if versions:
            for version in versions:
                sources = flatten(body_of(version.node)).sources
                deltas = (isinstance(each, Scan) and each.version is Version.DELTA for each in sources)
                yield Site(rule, version.node, list(deltas).index(True))
        else:
            taken = storage.takes(rule)
            sources = flatten(body_of(rule.plan.node)).sources
            yield Site(rule, rule.plan.node, None if taken is None else sources.index(taken))


def phases(facts: tuple[FactNode, ...], rules: tuple[RuleNode, ...], storage: Storage) -> Iterator[Phase]:
    """The rule nodes that are needed, by the stratum whose stored relations they fill."""
    members: dict[int, list[RuleNode]] = {}
    for node in rules:
        if not node.removed:
            head = facts[node.result].fact.relation
            for stratum in storage.phases.get(head, frozenset({node.rule.stratum})):
                members.setdefault(stratum, []).append(node)
    for stratum, nodes in sorted(members.items()):
        filled = dict.fromkeys(node.rule.plan.head for node in nodes if node.rule.stratum == stratum)
        yield Phase(
            stratum,
            tuple(relation for relation in filled if relation in storage.stored),
            tuple(node.number for node in nodes if node.fact is None),
            tuple(node.number for node in nodes),
        )
