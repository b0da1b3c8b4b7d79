"""Questions before answers. Takes a checked program and a question, returns a program that derives what it needs.

Each relation that rules compute is split by adornment: `path@bf` holds the rows of `path` whose first value is asked
for, and `?path@bf` holds those values. A rule for `path` becomes a rule for `path@bf` that reads `?path@bf` first, and
one rule for each literal of its body that says what is asked of that one (magic sets without supplementary relations:
a prefix that two rules share is joined twice). Explicit facts of a relation that has rules stand in `path@given`.

Law: among the rows that agree with the question, the answer relation and the relation asked for are the same. Where a
relation is needed with no column bound, or where asking for a part of it would tie it to its own negation or
aggregate, all of it is computed under its own name, and with it all that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from tidelog.analysis.adornment import (
    Adornment,
    adorned,
    adorned_schema,
    bound_columns,
    chosen,
    given_to,
    states_fact,
    wanted,
    wanted_schema,
)
from tidelog.analysis.checked import CheckedProgram, SimpleRule, Stratum
from tidelog.analysis.dependencies import Reading, components, dependencies
from tidelog.analysis.magic_bodies import atoms_read, with_atoms
from tidelog.analysis.magic_closures import SearchForm, search_form
from tidelog.analysis.sideways import connected, pass_sideways
from tidelog.analysis.strata import stratify
from tidelog.analysis.traversal import own_names
from tidelog.language.syntax_tree import Atom, Constant, Literal, Variable, Wildcard
from tidelog.schema import Schema

GIVEN_RULE = -1
"""The id of the rules that take over explicit facts."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A program for one form of question.

    `checked` reads what is stored: relations without rules under their own names, explicit facts of others in
    `given_to(relation)`. `seed` is the fact that it starts from: the constants of the question at the columns that are
    `used`. Other constants there give another seed for the same program. The rows of `answer` that agree with the
    question are its answers. `left_alone` says why a relation is computed in full, `reads` names the relations of the
    original program whose explicit facts are needed.
    """

    checked: CheckedProgram
    seed: Atom
    used: Adornment
    answer: str
    left_alone: Mapping[str, str]
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Unhelpful:
    """Why nothing is saved by looking at the question first."""

    reason: str


def rewrite(checked: CheckedProgram, question: Atom, given: Set[str]) -> Rewritten | Unhelpful:
    """The program that derives what `question` needs. Its constants have the kinds of their columns.

    `given` are the relations with rules that have explicit facts too.
    """
    sources = Sources.of(checked, given)
    relation, adornment = question.relation, bound_columns(question, frozenset())
    if relation not in sources.rules:
        return Unhelpful(f"no rule derives '{relation}': its rows are stored")
    if not any(adornment):
        return Unhelpful("the question binds no column")
    full = sources.closed_under_needs(
        {name: "it has a .limitsize" for name in checked.size_limits if name in sources.rules}
    )
    while relation not in full:
        asking = Asking(sources, full)
        adornment = asking.ask(relation, adornment)
        asking.answer_all()
        found = asking.read_in_full or dict(_tied(asking))
        if not found:
            return _rewritten(asking, question, adornment)
        full = sources.closed_under_needs({**full, **found})
    return Unhelpful(f"all of '{relation}' is needed: {full[relation]}")


@dataclass(frozen=True, slots=True)
class Sources:
    """What is rewritten: the rules of each relation without the facts of the text, and what is known about them."""

    checked: CheckedProgram
    rules: Mapping[str, tuple[SimpleRule, ...]]
    strata: Mapping[str, Stratum]
    given: frozenset[str]

    @staticmethod
    def of(checked: CheckedProgram, given: Set[str]) -> Sources:
        rules: dict[str, tuple[SimpleRule, ...]] = {}
        strata = {}
        for stratum in checked.strata:
            for rule in stratum.rules:
                if _derives(rule):
                    name = rule.head.relation
                    rules[name] = (*rules.get(name, ()), rule)
                    strata[name] = stratum
        return Sources(checked, rules, strata, frozenset(given) & rules.keys())

    def closed_under_needs(self, full: Mapping[str, str]) -> dict[str, str]:
        """`full` and all that it needs: what is computed in full must read what is."""
        found = dict(full)
        waiting = list(full)
        while waiting:
            reader = waiting.pop()
            for rule in self.rules.get(reader, ()):
                for atom in atoms_read(rule.body):
                    if atom.relation in self.rules and atom.relation not in found:
                        found[atom.relation] = f"'{reader}' needs all of it"
                        waiting.append(atom.relation)
        return found

    def stored_schemas(self, names: Set[str]) -> dict[str, Schema]:
        """The schemas of those of `names` that are relations of the program or hold explicit facts of one."""
        schemas = self.checked.schemas
        given = {given_to(name): replace(schemas[name], relation=given_to(name)) for name in self.given}
        return {name: schema for name, schema in {**schemas, **given}.items() if name in names}

    def search_form(self, relation: str, adornment: Adornment) -> SearchForm | None:
        """The rules by which a closure is a search, in the direction of what is bound; None for other relations."""
        stratum = self.strata.get(relation)
        group = next((each for each in stratum.closures if each.relation == relation), None) if stratum else None
        if group is None or stratum is None or len(stratum.relations) > 1:
            return None
        has_facts = relation in self.given
        return search_form(group, self.rules[relation], self.checked.schemas[relation], adornment, has_facts)


@dataclass(slots=True)
class Asking:
    """One attempt: what is asked of each relation and the rules that answer it, as they are found."""

    sources: Sources
    full: Mapping[str, str]
    rules: list[SimpleRule] = field(default_factory=list)
    schemas: dict[str, Schema] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    read_in_full: dict[str, str] = field(default_factory=dict)
    step_relations: dict[str, tuple[SimpleRule, ...]] = field(default_factory=dict)
    _waiting: list[tuple[str, Adornment]] = field(default_factory=list)

    def is_asked(self, relation: str) -> bool:
        """Whether `relation` is computed in parts."""
        return (relation in self.sources.rules or relation in self.step_relations) and relation not in self.full

    def origin(self, name: str) -> str:
        """The relation of the original program that `name` is a part of."""
        while name in self.origins:
            name = self.origins[name]
        return name

    def ask(self, relation: str, adornment: Adornment) -> Adornment:
        """The columns by which the part of `relation` is found that has everything asked for."""
        form = self.sources.search_form(relation, adornment)
        if form is not None:
            adornment = form.adornment
        name = adorned(relation, adornment)
        if name not in self.origins:
            schema = self._schema(relation)
            self.schemas[name] = adorned_schema(schema, adornment)
            self.schemas[wanted(relation, adornment)] = wanted_schema(schema, adornment)
            self.origins[name] = self.origins[wanted(relation, adornment)] = relation
            if form is not None:
                self._take_in(form)
            self._waiting.append((relation, adornment))
        return adornment

    def answer_all(self) -> None:
        """Adds the rules for everything asked, until nothing new is."""
        while self._waiting and not self.read_in_full:
            relation, adornment = self._waiting.pop(0)
            rules = tuple(self._rules_of(relation, adornment))
            is_exact = all(
                isinstance(term, Variable | Constant)
                for rule in rules
                for term in chosen(rule.head.arguments, adornment)
            )
            for rule in rules:
                self._answer(rule, adornment, is_exact)

    def _schema(self, relation: str) -> Schema:
        if relation in self.sources.checked.schemas:
            return self.sources.checked.schemas[relation]
        return self.schemas[relation]

    def _take_in(self, form: SearchForm) -> None:
        """Makes the relation of a closure's first steps one that can be asked for."""
        if form.start:
            name = form.start[0].head.relation
            self.step_relations[name] = form.start
            self.schemas[name] = replace(self._schema(form.relation), relation=name)
            self.origins[name] = form.relation

    def _rules_of(self, relation: str, adornment: Adornment) -> Iterator[SimpleRule]:
        form = self.sources.search_form(relation, adornment)
        if form is not None:
            yield from form.rules
            return
        yield from self.step_relations.get(relation) or self.sources.rules[relation]
        if relation in self.sources.given:
            yield given_rule(self._schema(relation))

    def _answer(self, rule: SimpleRule, adornment: Adornment, is_exact: bool) -> None:
        """Adds the rule that answers what is asked, and those that ask what it needs for that."""
        relation = rule.head.relation
        asked = Atom(wanted(relation, adornment), _plain(chosen(rule.head.arguments, adornment)), rule.head.span)
        bound = own_names((asked,))
        passing = pass_sideways(rule.body, bound, self.is_asked)
        onward: list[Literal] = [asked]
        known = set(bound)
        for literal in passing.onward:
            if isinstance(literal, Atom) and self.is_asked(literal.relation):
                literal = self._asking(literal, known, onward, rule)
            onward.append(literal)
            known |= own_names((literal,))
        rest = [
            with_atoms(literal, self.is_asked, lambda atom: self._asking(atom, known, onward, rule))
            for literal in passing.rest
        ]
        head = replace(rule.head, relation=adorned(relation, adornment))
        body = tuple(onward)
        if is_exact and any(_implies(literal, head, adornment) for literal in body[1:]):
            body = body[1:]
        self.rules.append(replace(rule, head=head, body=(*body, *rest), plan=None))

    def _asking(self, atom: Atom, known: Set[str], onward: list[Literal], rule: SimpleRule) -> Atom:
        """`atom` as a part of its relation; what is asked of that part is added as a rule."""
        adornment = bound_columns(atom, known)
        if not any(adornment):
            line = f" in line {rule.span.line}" if rule.span.line else ""
            reason = f"a rule for '{self.origin(rule.head.relation)}'{line} reads it with no column bound"
            self.read_in_full[self.origin(atom.relation)] = reason
            return atom
        adornment = self.ask(atom.relation, adornment)
        asked = Atom(wanted(atom.relation, adornment), chosen(atom.arguments, adornment), atom.span)
        if asked not in onward:
            names = own_names((asked,))
            body = tuple(connected(onward, names)) if names else (onward[0],)
            kinds = {name: kind for name, kind in rule.kinds.items() if name in own_names(body)}
            self.rules.append(replace(rule, head=asked, body=body, kinds=kinds, plan=None))
        return replace(atom, relation=adorned(atom.relation, adornment))


def given_rule(schema: Schema) -> SimpleRule:
    """The rule by which a relation has its explicit facts."""
    variables = tuple(Variable(name) for name in schema.names)
    head, body = Atom(schema.relation, variables), Atom(given_to(schema.relation), variables)
    kinds = dict(zip(schema.names, schema.kinds, strict=True))
    return SimpleRule(GIVEN_RULE, head, (body,), kinds, head.span, f"facts given to {schema.relation}")


def _plain(terms: tuple[object, ...]) -> tuple[Variable | Constant | Wildcard, ...]:
    """`terms`, with any value where one must be computed first."""
    return tuple(term if isinstance(term, Variable | Constant) else Wildcard() for term in terms)


def _implies(literal: Literal, head: Atom, adornment: Adornment) -> bool:
    """Whether `literal` reads the same part with the same bound values, so that they are known to be asked for."""
    return (
        isinstance(literal, Atom)
        and literal.relation == head.relation
        and chosen(literal.arguments, adornment) == chosen(head.arguments, adornment)
    )


def _tied(asking: Asking) -> Iterator[tuple[str, str]]:
    """The relations that would depend on their own negation or aggregate if parts of them were asked for, and why."""
    graph: dict[str, list[str]] = {name: [] for name in asking.schemas}
    found = list(dependencies(asking.rules))
    for each in found:
        graph[each.head].append(each.relation)
        graph.setdefault(each.relation, [])
    component = {name: number for number, names in enumerate(components(graph)) for name in names}
    for each in found:
        if each.reading is not Reading.POSITIVE and component[each.head] == component[each.relation]:
            reader = asking.origin(each.head)
            how = "negates" if each.reading is Reading.NEGATED else "aggregates"
            yield asking.origin(each.relation), f"'{reader}' {how} it, and what it asks of it would depend on itself"


def _rewritten(asking: Asking, question: Atom, adornment: Adornment) -> Rewritten:
    checked, full = asking.sources.checked, asking.full
    read = {atom.relation for rule in asking.rules for atom in atoms_read(rule.body)}
    needed = asking.sources.closed_under_needs({name: full[name] for name in full if name in read})
    kept = [_without_facts(stratum) for stratum in checked.strata if not needed.keys().isdisjoint(stratum.relations)]
    stored = {atom.relation for stratum in kept for rule in stratum.rules for atom in atoms_read(rule.body)} | read
    schemas = {
        **asking.sources.stored_schemas(stored | needed.keys()),
        **{name: schema for name, schema in asking.schemas.items() if name not in asking.step_relations},
    }
    strata, cycles = stratify(asking.rules, schemas, frozenset(schemas))
    assert not cycles, f"asking for parts made a cycle: {cycles}"
    asked_for = {name for name in asking.sources.given if given_to(name) in stored}
    return Rewritten(
        replace(
            checked,
            schemas=schemas,
            strata=(*kept, *(replace(stratum, closures=()) for stratum in strata)),
            inputs=(),
            outputs=(),
            size_limits={name: limit for name, limit in checked.size_limits.items() if name in needed},
            warnings=(),
        ),
        Atom(wanted(question.relation, adornment), chosen(question.arguments, adornment), question.span),
        adornment,
        adorned(question.relation, adornment),
        {name: full[name] for name in needed},
        frozenset(checked.schemas.keys() & (stored | needed.keys() | asked_for)),
    )


def _without_facts(stratum: Stratum) -> Stratum:
    return replace(stratum, rules=tuple(filter(_derives, stratum.rules)))


def _derives(rule: SimpleRule) -> bool:
    """Whether `rule` is more than a fact of the text, which is stored beforehand."""
    return bool(rule.body) or not states_fact(rule.head)
