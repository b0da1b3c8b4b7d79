"""The judge of production rules: the definitions of the two papers, letter by letter, over Python sets.

`set` and `instance`: Fabret, Regnier and Simon 1993, sections 2.2 and 2.3. `parallel`: Wolfson and others 1991, section
2, with the stop at "no change". What the papers leave open is decided as `docs/how-to/production-rules.md` says.
A state is a set of facts `(relation, row)` of the relations that no ordinary rule derives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from oracle import World, evaluate, solutions, stored, value_of
from plain_form import alternatives, names, own_nodes
from tidelog.analysis.checked import CheckedProgram
from tidelog.language.syntax_tree import Rule, Semantics, Sign, Variable
from tidelog.schema import Row

Fact = tuple[str, Row]
State = frozenset[Fact]
Effect = frozenset[tuple[Sign, Fact]]
Binding = tuple[object, ...]


@dataclass(frozen=True)
class Instance:
    """A satisfying instance: the rule, the alternative of its body, the values of its variables, what it asks for."""

    rule: Rule
    alternative: int
    binding: Binding
    effect: Effect


@dataclass(frozen=True)
class Cycles:
    """The states that were passed through, the first one included; `turns` when the last is one of those before."""

    states: tuple[State, ...]
    turns: bool

    @property
    def last(self) -> State:
        return self.states[-1]


class TooLong(Exception):
    """More cycles than there was patience for."""


def run(checked: CheckedProgram, facts: Mapping[str, Iterable[Row]], most: int = 200) -> Cycles:
    """All states from the first to the fixpoint, or to one that came before."""
    assert checked.semantics is not None
    state = frozenset((name, stored(row, checked.schemas[name])) for name, rows in facts.items() for row in rows)
    memory: frozenset[tuple[int, int, Binding]] = frozenset()
    states = [state]
    seen = {(state, memory)}
    while len(states) <= most:
        state, memory = step(checked, state, memory)
        if state == states[-1]:
            return Cycles(tuple(states), turns=False)
        states.append(state)
        if (state, memory) in seen:
            return Cycles(tuple(states), turns=True)
        seen.add((state, memory))
    raise TooLong


def step(
    checked: CheckedProgram, state: State, memory: frozenset[tuple[int, int, Binding]]
) -> tuple[State, frozenset[tuple[int, int, Binding]]]:
    """The next state, and the instances that have fired and hold still; the same state at a fixpoint."""
    assert checked.semantics is not None
    instances = list(satisfying(checked, state))
    match checked.semantics.semantics:
        case Semantics.PARALLEL:
            return after(state, frozenset().union(*(instance.effect for instance in instances))), memory
        case Semantics.SET:
            effects = {
                rule: frozenset().union(*(one.effect for one in instances if one.rule is rule))
                for rule in acting(checked)
            }
            firable = [rule for rule in effects if after(state, effects[rule]) != state]
            chosen = first_of(firable, checked)
            return (state if chosen is None else after(state, effects[chosen])), memory
        case Semantics.INSTANCE:
            firable_instances = [
                one for one in instances if after(state, one.effect) != state and key(one) not in memory
            ]
            chosen = first_of([one.rule for one in firable_instances], checked)
            if chosen is None:
                return state, memory
            least = min((one for one in firable_instances if one.rule is chosen), key=lambda one: key(one)[1:])
            new = after(state, least.effect)
            if checked.semantics.refraction:
                holding = {key(one) for one in satisfying(checked, new)}
                memory = (memory | {key(least)}) & holding
            return new, memory


def after(state: State, effect: Effect) -> State:
    """The facts A in I or asked for whose deletion is not, and those in I that are both inserted and deleted."""
    inserted = {fact for sign, fact in effect if sign is Sign.INSERT}
    deleted = {fact for sign, fact in effect if sign is Sign.DELETE}
    return frozenset(
        fact
        for fact in state | inserted
        if fact not in deleted or (fact in state and fact in inserted and fact in deleted)
    )


def key(instance: Instance) -> tuple[int, int, Binding]:
    return instance.rule.id, instance.alternative, instance.binding


def acting(checked: CheckedProgram) -> list[Rule]:
    return [rule for rule in checked.program.rules if rule.signs]


def first_of(firable: Iterable[Rule], checked: CheckedProgram) -> Rule | None:
    """Of the firable rules that no firable rule has priority over, the one that is tried first."""
    over = {rule.id: rule.over for rule in checked.productions}
    candidates = {rule.id: rule for rule in firable}
    free = [one for one in candidates if not any(one in over[other] for other in candidates)]
    tried: list[int] = []
    while len(tried) < len(over):
        waiting = [one for one in sorted(over) if one not in tried]
        tried.append(next(one for one in waiting if not any(one in over[other] for other in waiting)))
    return candidates[min(free, key=tried.index)] if free else None


def satisfying(checked: CheckedProgram, state: State) -> Iterator[Instance]:
    """The satisfying instances of all production rules in `state` and what ordinary rules derive from it."""
    world = World(derived(checked, state))
    for rule in acting(checked):
        scope = names(own_nodes((*rule.heads, *rule.body)))
        variables = dict.fromkeys(node.name for node in own_nodes(rule.body) if isinstance(node, Variable))
        terms = tuple(term for head in rule.heads for term in head.arguments)
        for number, (plain_terms, body) in enumerate(alternatives(terms, rule.body)):
            effects: dict[Binding, set[tuple[Sign, Fact]]] = {}
            for binding in solutions(body, {}, scope, world):
                values = iter([value_of(term, binding, world) for term in plain_terms])
                asked = {
                    (sign, (head.relation, tuple(next(values) for _ in head.arguments)))
                    for sign, head in zip(rule.signs, rule.heads, strict=True)
                }
                bound = tuple(binding[name] for name in variables if name in binding)
                effects.setdefault(bound, set()).update(asked)
            for bound, asked in effects.items():
                yield Instance(rule, number, bound, frozenset(asked))


def derived(checked: CheckedProgram, state: State) -> dict[str, set[Row]]:
    """The rows of every relation: those of `state`, and what follows by the rules without signs."""
    ordinary = tuple(
        item for item in checked.program.items if not (isinstance(item, Rule) and (item.signs or not item.body))
    )
    facts: dict[str, list[Row]] = {}
    for relation, row in state:
        facts.setdefault(relation, []).append(row)
    return evaluate(replace(checked, program=replace(checked.program, items=ordinary)), facts)
