"""Questions about a change: which heads may lose a derivation, which gain one, and is there another one?

A question is a rule with one scan that reads MARKED rows, those that came or went, or heads in doubt; a backend
answers it by starting there. What is lost may be asked for too widely, since each head is looked at again: such bodies
leave out negations and aggregates ("relaxed"). What is gained is exact.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from tidelog.language.syntax_tree import Comparison, ComparisonOperator, Constant, Term, Variable
from tidelog.plan.module_questions import closed_through
from tidelog.plan.nodes import (
    AGE,
    Antijoin,
    Distinct,
    GroupJoin,
    Join,
    Node,
    Plan,
    Project,
    RulePlan,
    Scan,
    Select,
    StratumPlan,
    Union,
    Version,
)
from tidelog.plan.passes.prune_columns import names_used, prune_node
from tidelog.plan.relaxed_bodies import Alternative, bound_by, ready, relaxed, sightings
from tidelog.plan.spine import OWN, UNIT, Operation, Source, Spine, assemble, flatten
from tidelog.plan.walk import names_in, scans_of
from tidelog.schema import Attribute, Kind, Schema


class Sign(Enum):
    """What happened to rows."""

    CAME = "+"
    WENT = "-"


Trigger: TypeAlias = tuple[str, Sign]
"""Rows of a relation that came or went."""


@dataclass(frozen=True, slots=True)
class Regrouping:
    """What to ask about groups of an aggregate whose rows have changed; they are MARKED rows of `groups`.

    Where a head says which group it is of, `gained` finds whatever `support`, the question for a derivation of the head
    by the same rule, would find: it need not be asked.
    """

    groups: Schema
    lost: tuple[RulePlan, ...]
    gained: RulePlan
    support: RulePlan | None


@dataclass(slots=True)
class StratumQuestions:
    """The questions about the heads of one stratum.

    `changed_groups` has, for each relation under an aggregate, rules that give the groups that marked rows of it belong
    to. `outside` asks for derivations of marked heads that use nothing of the stratum; `older` for those that use only
    what came before the head itself; `any` for all the others.
    """

    stratum: StratumPlan
    lost: dict[Trigger, list[RulePlan]] = field(default_factory=lambda: defaultdict(list))
    gained: dict[Trigger, list[RulePlan]] = field(default_factory=lambda: defaultdict(list))
    changed_groups: dict[str, list[RulePlan]] = field(default_factory=lambda: defaultdict(list))
    regroupings: dict[str, Regrouping] = field(default_factory=dict)
    outside: dict[str, list[RulePlan]] = field(default_factory=lambda: defaultdict(list))
    older: dict[str, list[RulePlan]] = field(default_factory=lambda: defaultdict(list))
    any: dict[str, list[RulePlan]] = field(default_factory=lambda: defaultdict(list))
    is_joined_with_itself: bool = False
    """Whether a rule of another stratum reads relations of this one in more than one place."""
    opaque: set[str] = field(default_factory=set)
    """Relations under an aggregate whose groups cannot be told from their rows: a change means starting over."""

    @property
    def has_aggregates(self) -> bool:
        """Whether a rule of the stratum reads all rows of a group."""
        return bool(self.changed_groups or self.regroupings or self.opaque)

    @property
    def is_monotone(self) -> bool:
        """Whether nothing comes in the stratum by what goes below it or in it."""
        return not self.has_aggregates and not any(sign is Sign.WENT for _, sign in self.gained)

    def concerns(self) -> frozenset[str]:
        """The relations whose changes matter to the stratum."""
        closed = self.stratum.closed
        return frozenset(
            (
                *(relation for relation, _ in (*self.lost, *self.gained)),
                *self.changed_groups,
                *self.opaque,
                *(() if closed is None else (closed.edges,)),
            )
        )


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """The questions about all strata, in order; `readers` are the numbers of the strata that a relation matters to."""

    strata: tuple[StratumQuestions, ...]
    readers: Mapping[str, tuple[int, ...]]

    @property
    def groups(self) -> dict[str, Schema]:
        """The schemas of the relations whose marked rows are groups."""
        found = [each.groups for questions in self.strata for each in questions.regroupings.values()]
        return {schema.relation: schema for schema in found}


def questions_of(plan: Plan) -> Questionnaire:
    """The questions about an optimised plan."""
    schemas = {**plan.schemas, **plan.hidden}
    strata = tuple(_questions(stratum, schemas) for stratum in plan.strata)
    readers: dict[str, list[int]] = defaultdict(list)
    for number, questions in enumerate(strata):
        questions.is_joined_with_itself = _is_joined(questions.stratum, plan)
        for relation in questions.concerns():
            readers[relation].append(number)
    return Questionnaire(strata, {relation: tuple(numbers) for relation, numbers in readers.items()})


def _is_joined(stratum: StratumPlan, plan: Plan) -> bool:
    """Whether a rule of another stratum reads relations of this one in more than one place."""
    own = set(stratum.relations)
    return any(
        sum(scan.relation in own for scan in scans_of(rule.node)) > 1
        for other in plan.strata
        if other is not stratum
        for rule in (*other.given, *other.once, *other.first)
    )


def _questions(stratum: StratumPlan, schemas: Mapping[str, Schema]) -> StratumQuestions:
    questions = StratumQuestions(stratum)
    for rule in (*stratum.given, *stratum.once, *stratum.first):
        _Asking(rule, frozenset(stratum.relations), schemas, questions).all()
    for module in stratum.modules:
        questions.lost[module.edges, Sign.WENT] += closed_through(module, schemas[module.closure.relation])
    return questions


@dataclass(slots=True)
class _Asking:
    """The questions about one rule, put into `questions`."""

    rule: RulePlan
    recursive: frozenset[str]
    schemas: Mapping[str, Schema]
    questions: StratumQuestions
    support: RulePlan | None = None
    """The question for a derivation of a head that uses nothing of the stratum, where the rule is of that kind."""

    @property
    def has_modules(self) -> bool:
        """Whether a module takes part: a closure keeps facts for the sake of younger ones, so that ages say nothing."""
        return bool(self.questions.stratum.modules)

    @property
    def project(self) -> Project:
        assert isinstance(self.rule.node, Project)
        return self.rule.node

    def all(self) -> None:
        self._ask_what_is_lost()
        self._ask_what_is_gained()
        self._ask_for_support()
        self._ask_about_groups()

    def _ask_what_is_lost(self) -> None:
        for sighting in sightings(self.project.input):
            if not sighting.is_grouped:
                sign = Sign.CAME if sighting.is_negated else Sign.WENT
                scan = sighting.body.sources[sighting.position]
                assert isinstance(scan, Scan)
                body = _with_marked(sighting.body, sighting.position)
                is_inside = not sighting.is_negated and scan.relation in self.recursive and not self.has_modules
                question = self._younger(body, sighting.position) if is_inside else self._relaxed(body)
                self.questions.lost[scan.relation, sign].append(question)

    def _ask_what_is_gained(self) -> None:
        spine = flatten(self.project.input)
        for position, source in enumerate(spine.sources):
            if isinstance(source, Scan) and source.relation not in self.recursive:
                body = _with_marked(spine, position)
                self.questions.gained[source.relation, Sign.CAME].append(self._exact(body))
        for part in spine.others:
            if isinstance(part, Antijoin) and isinstance(part.right, Scan):
                marked = replace(part.right, version=Version.MARKED)
                # A marked row may have the value of an aggregate in a column: then the two must agree.
                body = Spine((marked, *spine.sources), tuple(_given_apart(spine.others, marked.columns)))
                self.questions.gained[part.right.relation, Sign.WENT].append(self._exact(body))

    def _ask_about_groups(self) -> None:
        spine = flatten(self.project.input)
        for aggregate in [part for part in spine.others if isinstance(part, GroupJoin)]:
            groups = self._groups_schema(aggregate)
            for sighting in sightings(aggregate.right):
                scan = sighting.body.sources[sighting.position]
                assert isinstance(scan, Scan)
                body = _with_marked(sighting.body, sighting.position)
                if set(aggregate.keys) <= bound_by(body):
                    node = Project(assemble(*ready(body)), tuple(Variable(key) for key in aggregate.keys))
                    rule = self._pruned(replace(self.rule, head=groups.relation, node=node, order=None))
                    self.questions.changed_groups[scan.relation].append(rule)
                else:
                    self.questions.opaque.add(scan.relation)
            marked = Scan(groups.relation, aggregate.keys, Version.MARKED)
            narrow = replace(aggregate, right=_join(marked, aggregate.right))
            others = tuple(narrow if part is aggregate else part for part in spine.others)
            gained = self._exact(Spine((marked, *spine.sources), others), narrow)
            lost = tuple(self._relaxed(Spine((marked, *body.sources), body.others)) for body in relaxed(spine))
            is_told = set(aggregate.keys) <= {term.name for term in self.project.columns if isinstance(term, Variable)}
            support = self.support if is_told and not self.questions.stratum.rounds else None
            self.questions.regroupings[groups.relation] = Regrouping(groups, lost, gained, support)

    def _ask_for_support(self) -> None:
        spine = flatten(self.project.input)
        head = self.rule.head
        columns, tests = self._head_columns(names_in(*self.project.columns))
        heads = _terms(columns)
        is_recursive = any(isinstance(each, Scan) and each.relation in self.recursive for each in spine.sources)
        marked = Scan(head, (*columns, AGE) if is_recursive else columns, Version.MARKED)
        body = Spine((marked, *spine.sources), (*_given_apart(spine.others, columns), *tests))
        question = self._asked(body, heads)
        self._put(self.questions.any if is_recursive else self.questions.outside, question)
        self.support = None if is_recursive else question
        if is_recursive and not self.has_modules:
            older = tuple(
                replace(each, columns=(*each.columns, AGE), version=Version.OLDER)
                if isinstance(each, Scan) and each.relation in self.recursive
                else each
                for each in spine.sources
            )
            self._put(self.questions.older, self._asked(replace(body, sources=(marked, *older)), heads))

    def _put(self, questions: dict[str, list[RulePlan]], question: RulePlan) -> None:
        questions[question.head].append(question)

    def _exact(self, body: Spine, narrow: GroupJoin | None = None) -> RulePlan:
        return self._asked(body, self.project.columns, narrow)

    def _asked(self, body: Spine, heads: tuple[Term, ...], narrow: GroupJoin | None = None) -> RulePlan:
        """The rule with this body and head. Its aggregates look only at groups that the body asks for; `narrow` does so
        already."""
        others = tuple(
            _narrowed(part, body) if isinstance(part, GroupJoin) and part is not narrow else part
            for part in body.others
        )
        return self._with_node(Project(assemble(body.sources, others), heads, self.project.span))

    def _relaxed(self, body: Alternative) -> RulePlan:
        """The heads that the rule may have with a relaxed body. Columns that it leaves open may be anything stored."""
        sources, others = ready(body)
        bound = bound_by(body)
        if all(names_in(term) <= bound for term in self.project.columns):
            node = Project(assemble(sources, others), self.project.columns, self.project.span)
            return self._pruned(replace(self.rule, node=node, order=None))
        columns, tests = self._head_columns(bound)
        stored = Scan(self.rule.head, columns)
        return self._with_node(
            Project(assemble((*sources, stored), (*others, *tests)), _terms(columns), self.project.span)
        )

    def _younger(self, body: Alternative, position: int) -> RulePlan:
        """The heads that came after the marked fact of the same stratum: no other can depend on it.

        Whatever came first was derived from what was there before it, and still follows from that.
        """
        bound = bound_by(body)
        if not all(names_in(term) <= bound for term in self.project.columns):
            return self._relaxed(body)
        sources, others = ready(body)
        heads, tests = self._head_columns(bound)
        marked = body.sources[position]
        assert isinstance(marked, Scan)
        aged = replace(marked, columns=(*marked.columns, AGE))
        younger = Scan(self.rule.head, (*heads, AGE), Version.YOUNGER)
        sources = (*(aged if source is marked else source for source in sources), younger)
        node = Project(assemble(sources, (*others, *tests)), _terms(heads), self.project.span)
        return self._with_node(node)

    def _head_columns(self, bound: frozenset[str]) -> tuple[tuple[str | Constant, ...], tuple[Operation, ...]]:
        """The head's terms as columns of a scan, with tests for those that must be computed from `bound` names.

        What cannot be computed may be anything.
        """
        columns: list[str | Constant] = []
        tests: list[Operation] = []
        kinds = self.schemas[self.rule.head].kinds
        for number, (term, kind) in enumerate(zip(self.project.columns, kinds, strict=True)):
            match term:
                case Variable(name) if name in bound:
                    columns.append(name)
                case Constant():
                    columns.append(replace(term, kind=kind))
                case _:
                    columns.append(f"~{number}")
                    if names_in(term) <= bound:
                        tests.append(_equal(f"~{number}", term, kind))
        return tuple(columns), tuple(tests)

    def _with_node(self, node: Project) -> RulePlan:
        kinds = {**self.rule.kinds, **_own_kinds(self.schemas[self.rule.head])}
        kinds |= {f"{OWN}{name}": kind for name, kind in self.rule.kinds.items()}
        return self._pruned(replace(self.rule, node=node, kinds=kinds, order=None))

    def _pruned(self, rule: RulePlan) -> RulePlan:
        return replace(rule, node=prune_node(rule.node, Counter(names_used(rule.node))))

    def _groups_schema(self, aggregate: GroupJoin) -> Schema:
        kinds = [self.rule.kinds[key] for key in aggregate.keys]
        # Other rules may come later: a name stands for the same kinds for good.
        name = f"{self.rule.head}@groups{len(self.questions.regroupings)}:{','.join(kind.value for kind in kinds)}"
        return Schema(name, tuple(Attribute(key, "", kind) for key, kind in zip(aggregate.keys, kinds, strict=True)))


def _with_marked(body: Spine, position: int) -> Spine:
    """`body` with the scan at `position` reading marked rows."""
    sources = list(body.sources)
    scan = sources[position]
    assert isinstance(scan, Scan)
    sources[position] = replace(scan, version=Version.MARKED)
    return replace(body, sources=tuple(sources))


def _narrowed(aggregate: GroupJoin, body: Spine) -> GroupJoin:
    """`aggregate` over the groups that `body` asks for, as far as its sources tell."""
    without = Spine(body.sources, tuple(part for part in body.others if not isinstance(part, Antijoin | GroupJoin)))
    keys = tuple(key for key in aggregate.keys if key in bound_by(without))
    if not keys:
        return aggregate
    asked = Distinct(assemble(*ready(without)), keys)
    return replace(aggregate, right=_join(asked, aggregate.right))


def _join(first: Source, node: Node) -> Node:
    """The rows of `node` that agree with a row of `first`."""
    match node:
        case Union(inputs):
            return replace(node, inputs=tuple(_join(first, each) for each in inputs))
        case _:
            return Join(first, node)


def _equal(name: str, term: Term, kind: Kind) -> Select:
    condition = Comparison(ComparisonOperator.EQUAL, Variable(name, term.span), term, term.span, kind)
    return Select(UNIT, condition, term.span)


def _terms(columns: Iterable[str | Constant]) -> tuple[Term, ...]:
    return tuple(Variable(column) if isinstance(column, str) else column for column in columns)


def _own_kinds(head: Schema) -> dict[str, Kind]:
    return {f"~{number}": kind for number, kind in enumerate(head.kinds)}


def _given_apart(others: Iterable[Operation], columns: tuple[str | Constant | None, ...]) -> Iterator[Operation]:
    """`others`, in which aggregates whose value is also a column of a marked row are compared with it."""
    for part in others:
        if isinstance(part, GroupJoin) and part.name in columns:
            own = f"{OWN}{part.name}"
            yield replace(part, name=own)
            yield _equal(part.name, Variable(own), part.kind)
        else:
            yield part
