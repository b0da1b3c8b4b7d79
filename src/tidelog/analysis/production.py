"""Rules that act: takes a program and its simple rules, returns production rules, or yields what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidelog.analysis.checked import ProductionRule, SignedHead, SimpleRule
from tidelog.analysis.dependencies import components
from tidelog.analysis.traversal import own_terms
from tidelog.errors import Diagnostic, Note
from tidelog.language.syntax_tree import Precedence, Program, RelationDeclaration, Rule, Semantics, Variable
from tidelog.language.words import nearest

PLAIN = Precedence()


def production_rules(rules: Iterable[Rule], simple: Iterable[SimpleRule]) -> tuple[ProductionRule, ...]:
    """The rules with signs, each with its alternatives put together again from the simple rules of its id."""
    acting = [rule for rule in rules if rule.signs]
    parts: dict[int, list[SimpleRule]] = {}
    for part in simple:
        parts.setdefault(part.id, []).append(part)
    over = _priorities(acting)
    return tuple(_production_rule(rule, parts[rule.id], over[rule.id]) for rule in acting if rule.id in parts)


def _production_rule(rule: Rule, parts: Sequence[SimpleRule], over: frozenset[int]) -> ProductionRule:
    """Simple rules come alternative by alternative, and within one head by head."""
    count = len(rule.heads)
    heads = tuple(SignedHead(sign, part.head) for sign, part in zip(rule.signs, parts[:count], strict=False))
    bodies = tuple(part.body for part in parts[::count])
    variables = dict.fromkeys(term.name for term in own_terms(rule.body) if isinstance(term, Variable))
    first = parts[0]
    return ProductionRule(
        rule.id, _name(rule), heads, bodies, tuple(variables), first.kinds, over, rule.span, first.text
    )


def _name(rule: Rule) -> str:
    return _precedence(rule).name or f"rule {rule.id}"


def _precedence(rule: Rule) -> Precedence:
    return rule.precedence or PLAIN


def _priorities(rules: Sequence[Rule]) -> dict[int, frozenset[int]]:
    """For each rule the ids of those it has priority over, by the numbers and by `before` and `after`."""
    over = {rule.id: {other.id for other in rules if _priority(rule) > _priority(other)} for rule in rules}
    for first, second in _stated_orders(rules):
        over[first.id].add(second.id)
    growing = True
    while growing:
        before = sum(map(len, over.values()))
        for below in over.values():
            below.update(*(over[other] for other in tuple(below)))
        growing = sum(map(len, over.values())) > before
    return {identity: frozenset(below) for identity, below in over.items()}


def _priority(rule: Rule) -> int:
    return _precedence(rule).priority or 0


def _stated_orders(rules: Sequence[Rule]) -> Iterator[tuple[Rule, Rule]]:
    """Pairs of rules of which the first was written to go before the second."""
    named = {_precedence(rule).name: rule for rule in rules if _precedence(rule).name}
    for rule in rules:
        yield from ((rule, named[name]) for name in _precedence(rule).before if name in named)
        yield from ((named[name], rule) for name in _precedence(rule).after if name in named)


def check_production(program: Program, declarations: Mapping[str, RelationDeclaration]) -> Iterator[Diagnostic]:
    """A diagnostic for each thing that a rule with signs, or the declaration of how rules fire, cannot be."""
    declared = list(program.productions)
    acting = [rule for rule in program.rules if rule.signs]
    for again in declared[1:]:
        yield Diagnostic(
            "D702",
            "how rules fire is declared twice",
            again.span,
            "keep one .production",
            notes=(Note("first declared here", declared[0].span),),
        )
    if acting and not declared:
        yield Diagnostic(
            "D701",
            "this rule has signed heads, but the program does not say how production rules fire",
            acting[0].span,
            "add .production set, .production instance or .production parallel, or remove the signs",
        )
    for rule in program.rules:
        if rule.precedence is not None and not rule.signs:
            yield Diagnostic(
                "D707",
                "only production rules have names and priorities",
                rule.precedence.span,
                "remove it, or give the heads of the rule signs",
            )
    yield from _check_heads(program, acting, declarations)
    yield from _check_names(acting)
    yield from _check_order(acting)
    if declared and declared[0].semantics is Semantics.PARALLEL:
        yield from _check_parallel(acting)


def _check_heads(
    program: Program, acting: Sequence[Rule], declarations: Mapping[str, RelationDeclaration]
) -> Iterator[Diagnostic]:
    derived = {head.relation: rule for rule in program.rules if rule.body and not rule.signs for head in rule.heads}
    for rule in acting:
        for head in rule.heads:
            if head.relation in derived:
                yield Diagnostic(
                    "D703",
                    f"'{head.relation}' is derived by a rule without signs, so no rule can insert or delete its rows",
                    head.span,
                    "act on the relations it is derived from, or give the other rule signs too",
                    notes=(Note("derived here", derived[head.relation].span),),
                )
                continue
            declaration = declarations.get(head.relation)
            for qualifier in ("inline", "eqrel"):
                if declaration is not None and qualifier in declaration.qualifiers:
                    yield Diagnostic(
                        "D704",
                        f"'{head.relation}' is declared '{qualifier}', so no rule can insert or delete its rows",
                        head.span,
                        f"remove the qualifier '{qualifier}'",
                        notes=(Note("declared here", declaration.span),),
                    )


def _check_names(acting: Sequence[Rule]) -> Iterator[Diagnostic]:
    named: dict[str, Precedence] = {}
    for rule in acting:
        given = _precedence(rule)
        if given.name in named:
            yield Diagnostic(
                "D705",
                f"two rules are called '{given.name}'",
                given.span,
                "rename one of them",
                notes=(Note("the first one is here", named[given.name].span),),
            )
        elif given.name:
            named[given.name] = given
    for rule in acting:
        given = _precedence(rule)
        for name in (*given.before, *given.after):
            if name not in named:
                close = nearest(name, named)
                hint = f"did you mean '{close}'?" if close else f"give a rule the name with [name {name}]"
                yield Diagnostic("D705", f"no rule is called '{name}'", given.span, hint)


def _check_order(acting: Sequence[Rule]) -> Iterator[Diagnostic]:
    """What the numbers, `before` and `after` say together must be an order."""
    graph: dict[str, list[str]] = {str(rule.id): [] for rule in acting}
    by_id = {str(rule.id): rule for rule in acting}
    for first, second in _stated_orders(acting):
        if _priority(first) < _priority(second):
            yield _contradiction([first, second])
        elif first is second:
            yield _contradiction([first])
        elif _priority(first) == _priority(second):
            graph[str(first.id)].append(str(second.id))
    for component in components(graph):
        if len(component) > 1:
            yield _contradiction([by_id[identity] for identity in component])


def _contradiction(rules: Sequence[Rule]) -> Diagnostic:
    """Rules that would each go before another of them."""
    names = " and ".join(f"'{_name(rule)}'" for rule in rules)
    stated = [rule for rule in rules if rule.precedence is not None]
    return Diagnostic(
        "D706",
        f"the priorities of {names} contradict each other" if len(rules) > 1 else f"{names} would go before itself",
        _precedence(stated[0]).span,
        "a rule goes before all of a lower number, and before those that 'before' and 'after' say: remove one of these",
        notes=tuple(Note(f"{_name(rule)} has this", _precedence(rule).span) for rule in stated[1:]),
    )


def _check_parallel(acting: Sequence[Rule]) -> Iterator[Diagnostic]:
    for rule in acting:
        given = _precedence(rule)
        if given.priority is not None or given.before or given.after:
            yield Diagnostic(
                "D708",
                "with .production parallel all rules fire at once, so none has priority",
                given.span,
                "remove the priority, or write .production set",
            )
