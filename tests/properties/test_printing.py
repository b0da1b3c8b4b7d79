"""Printing and formatting keep the program: for random programs, and random layouts of their text."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.language.formatter import format_text
from tidelog.language.logic import disjunction, negate
from tidelog.language.parser import parse
from tidelog.language.printer import print_item, print_program, print_term
from tidelog.language.syntax_tree import (
    Aggregate,
    AggregateFunction,
    Atom,
    AttributeDeclaration,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Constant,
    Directive,
    DirectiveKind,
    OrderHint,
    Pragma,
    Precedence,
    ProductionDeclaration,
    Program,
    RelationDeclaration,
    Rule,
    Semantics,
    Sign,
    Test,
    Truth,
    TypeDeclaration,
    TypeForm,
    Variable,
    Wildcard,
)
from tidelog.language.words import (
    BINARY_OPERATORS,
    FUNCTIONS,
    KEYWORDS,
    PREFIX_OPERATORS,
    QUALIFIERS,
    RESERVED_FOR_RELATIONS,
)
from tidelog.schema import Kind
from tidelog.span import NOWHERE

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

WORDS = st.from_regex(r"[a-zA-Z?_][a-zA-Z0-9_?]{0,4}", fullmatch=True).filter(lambda word: word != "_")
VARIABLES = WORDS.filter(lambda word: word not in KEYWORDS)
RELATIONS = WORDS.filter(lambda word: word not in RESERVED_FOR_RELATIONS)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)

CONSTANTS = st.one_of(
    st.builds(Constant, st.integers(-(2**63), 2**64 - 1), st.none()),
    st.builds(Constant, st.integers(0, 2**64 - 1), st.just(Kind.UNSIGNED)),
    st.builds(Constant, st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0), st.just(Kind.FLOAT)),
    st.builds(Constant, TEXTS, st.just(Kind.SYMBOL)),
)
SIMPLE_TERMS = st.one_of(CONSTANTS, st.builds(Variable, VARIABLES), st.builds(Wildcard))


def larger_terms(terms: st.SearchStrategy) -> st.SearchStrategy:
    pair = st.tuples(terms, terms)
    return st.one_of(
        st.builds(Call, st.sampled_from([*BINARY_OPERATORS, "^", "min", "max"]), pair),
        st.builds(Call, st.sampled_from([*PREFIX_OPERATORS.values()]), st.tuples(terms)),
        st.builds(Call, st.sampled_from(sorted(FUNCTIONS)), st.lists(terms, max_size=3).map(tuple)),
        st.builds(Cast, terms, WORDS),
        st.builds(Aggregate, st.just(AggregateFunction.COUNT), st.none(), bodies(terms)),
        st.builds(
            Aggregate, st.sampled_from([f for f in AggregateFunction if f.value != "count"]), terms, bodies(terms)
        ),
    )


def atoms(terms: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(Atom, RELATIONS, st.lists(terms, max_size=3).map(tuple))


def bodies(terms: st.SearchStrategy) -> st.SearchStrategy:
    """Bodies in the form the parser gives: groups and negations already worked out."""
    literal = st.one_of(
        atoms(terms),
        st.builds(Comparison, st.sampled_from(ComparisonOperator), terms, terms),
        st.builds(Test, st.sampled_from(["match", "contains"]), st.tuples(terms, terms), st.booleans()),
        st.builds(Truth, st.booleans()),
    )
    single = literal.map(lambda one: (one,))
    return st.deferred(
        lambda: st.recursive(
            single,
            lambda inner: st.one_of(
                st.lists(inner, min_size=2, max_size=3).map(lambda parts: sum(parts, ())),
                st.lists(inner, min_size=2, max_size=3).map(lambda parts: disjunction(parts, NOWHERE)),
                inner.map(lambda part: negate(part, NOWHERE)),
            ),
            max_leaves=4,
        )
    )


TERMS = st.recursive(SIMPLE_TERMS, larger_terms, max_leaves=5)
ORDERS = st.lists(
    st.tuples(st.integers(0, 9), st.lists(st.integers(1, 9), max_size=3).map(tuple)), min_size=1, max_size=2
)
RULES = st.builds(
    Rule,
    st.lists(atoms(TERMS), min_size=1, max_size=2).map(tuple),
    st.one_of(st.just(()), bodies(TERMS)),
    st.one_of(st.none(), st.builds(OrderHint, ORDERS.map(tuple))),
)
NAMES = st.lists(WORDS, max_size=2).map(tuple)
PRECEDENCES = st.builds(Precedence, WORDS | st.just(""), st.none() | st.integers(-9, 9), NAMES, NAMES).filter(
    lambda given: given != Precedence()
)


@st.composite
def production_rules(draw: st.DrawFn) -> Rule:
    rule = draw(RULES)
    signs = tuple(draw(st.sampled_from(Sign)) for _ in rule.heads)
    return replace(rule, signs=signs, precedence=draw(st.none() | PRECEDENCES))


PLAIN_QUALIFIERS = [word for word in QUALIFIERS if word not in ("input", "output", "printsize")]
ITEMS = st.one_of(
    st.builds(
        RelationDeclaration,
        RELATIONS,
        st.lists(st.builds(AttributeDeclaration, WORDS, WORDS, is_location=st.booleans()), max_size=3).map(tuple),
        st.lists(st.sampled_from(PLAIN_QUALIFIERS), max_size=2).map(tuple),
    ),
    st.builds(TypeDeclaration, WORDS, st.sampled_from([TypeForm.ALIAS, TypeForm.SUBTYPE]), st.tuples(WORDS)),
    st.builds(TypeDeclaration, WORDS, st.just(TypeForm.UNION), st.tuples(WORDS, WORDS)),
    st.builds(
        Directive,
        st.sampled_from(DirectiveKind),
        st.lists(RELATIONS, min_size=1, max_size=2).map(tuple),
        st.lists(st.tuples(WORDS, TEXTS), max_size=2).map(tuple),
    ),
    st.builds(Pragma, TEXTS, TEXTS),
    st.builds(ProductionDeclaration, st.sampled_from(Semantics)),
    st.builds(ProductionDeclaration, st.just(Semantics.INSTANCE), st.booleans()),
    RULES,
    RULES,
    production_rules(),
)
PROGRAMS = st.deferred(lambda: st.builds(Program, st.lists(ITEMS, max_size=4).map(tuple)))


@given(PROGRAMS)
def test_parse_after_print_is_the_identity(program):
    assert parse(print_program(program)) == program


@given(TERMS)
def test_a_printed_term_has_no_needless_parentheses(term):
    text = print_term(term)
    for opening in range(len(text)):
        if text[opening] == "(" and (opening == 0 or text[opening - 1] in "( -"):
            closing = matching(text, opening)
            without = text[:opening] + text[opening + 1 : closing] + text[closing + 1 :]
            assert read(without) != term


def matching(text: str, opening: int) -> int:
    depth = 0
    quoted = False
    for at in range(opening, len(text)):
        if text[at] == '"' and text[at - 1] != "\\":
            quoted = not quoted
        depth += 0 if quoted else (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return len(text) - 1


def read(text: str) -> object:
    try:
        (rule,) = parse(f"p({text}).").rules
    except Exception:
        return None
    return rule.heads[0].arguments[0] if len(rule.heads[0].arguments) == 1 else None


LAYOUTS = st.lists(
    st.sampled_from([" ", "\n", "\n\n\n", "\t", " // why\n", " /* so */ ", "\n/* a\nb */\n"]), max_size=9
)


@given(st.lists(ITEMS, max_size=4), LAYOUTS, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_formatting_is_idempotent_and_keeps_meaning_and_comments(items, layout, random):
    text = ""
    for item in items:
        for letter in print_item(item):
            text += letter
            if letter in ",;" and layout and '"' not in print_item(item):
                text += random.choice(layout)
        text += random.choice(["\n", *layout]) + "\n"
    formatted = format_text(text)
    assert parse(formatted) == parse(text)
    assert format_text(formatted) == formatted
    assert formatted.count("why") == text.count("why")
    assert formatted.count("/*") == text.count("/*")
