"""COSMA's analysis gives the tables and annotations of the paper, and the answers to its examples."""

from answers import checked_program
from tidelog.analysis.checked import ProductionRule
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import Semantics, Sign
from tidelog.plan.retention.annotate import Annotation, annotate, annotate_program
from tidelog.plan.retention.autonomy import RelationChange, is_autonomous, obstacles
from tidelog.plan.retention.expressions import Expression, body_expression
from tidelog.plan.retention.influence import Influence, influence_graph, relevant
from tidelog.plan.retention.profitable import maximal_profitable
from unit.production.paper_programs import FOUR_RULES

Table = dict[tuple[str, str], set[str]]

TABLE_5_1: Table = {
    ("r1", "r2"): {"C + D"},
    ("r1", "r3"): {"C + !C"},
    ("r1", "r4"): {"C + !A", "C + F"},
    ("r2", "r2"): {"D + D"},
    ("r2", "r3"): {"D - D", "D - !C"},
    ("r2", "r4"): {"D + !A", "D + F"},
    ("r3", "r1"): {"!C + C"},
    ("r3", "r2"): {"D + D", "!C - D"},
    ("r3", "r3"): {"D - D", "D - !C"},
    ("r3", "r4"): {"!C - !A", "!C - F", "D + !A", "D + F"},
    ("r4", "r1"): {"!A - C", "F - C"},
    ("r4", "r4"): {"!A - !A", "!A - F", "F + !A", "F + F"},
}
"""As printed, but for three labels. `!C - F` of (r3, r4) is printed `C - F`. Two are not printed, though the definition
asks for them as for `D - !C` and `!C - !A`, which are: `!C - D` of (r3, r2), for r2 reads C and r3 deletes from it, and
`F - C` of (r4, r1), for r1 negates F and r4 inserts into it."""

TABLE_5_2: Table = {arc: labels for arc, labels in TABLE_5_1.items() if (arc[0] == "r4") == (arc[1] == "r4")}
"""As printed: nothing between r4 and the rules that have priority over it."""


def test_the_influence_graph_is_table_5_1() -> None:
    rules = checked_program(FOUR_RULES).productions
    assert table(influence_graph(rules), rules) == TABLE_5_1


def test_priorities_reduce_the_influence_graph_to_table_5_2() -> None:
    rules = checked_program(FOUR_RULES).productions
    assert table(relevant(influence_graph(rules), rules), rules) == TABLE_5_2


def table(graph: tuple[Influence, ...], rules: tuple[ProductionRule, ...]) -> Table:
    by_id = {rule.id: rule for rule in rules}
    found: Table = {}
    for one in graph:
        source, target = by_id[one.source], by_id[one.target]
        label = f"{literal(source, one.source_head)} {'+' if one.adds else '-'} {literal(target, one.target_head)}"
        found.setdefault((source.name, target.name), set()).add(label)
    return found


def literal(rule: ProductionRule, number: int) -> str:
    head = rule.heads[number]
    return f"{'' if head.sign is Sign.INSERT else '!'}{head.atom.relation}"


def test_a_rule_that_fires_after_another_matters_to_it_when_it_can_wake_one_that_does() -> None:
    text = """
    .production set
    .decl p(x: number) .decl q(x: number) .decl r(x: number)
    +q(x) :- p(x). [name first, priority 2]
    +r(x) :- q(x). [name second, priority 1]
    """
    rules = checked_program(text).productions
    assert relevant(influence_graph(rules), rules) == ()
    rules = checked_program(text + "+p(x) :- r(x). [name third]").productions
    assert table(relevant(influence_graph(rules), rules), rules) == {
        ("first", "second"): {"q + r"},
        ("second", "third"): {"r + p"},
        ("third", "first"): {"p + q"},
    }


def test_the_annotations_of_section_5_4() -> None:
    first, second, third, fourth = annotate(checked_program(FOUR_RULES).productions, Semantics.SET)
    assert retained(first) == [({"A", "B", "E", "!F"}, {"!C"})]
    assert retained(second) == []
    assert retained(third) == [({"B", "!D", "E"}, {"C"})]
    assert retained(fourth) == []
    assert [str(change) for change in first.changes] == ["-C"]
    assert not any(effect.is_retained for one in (first, second, third, fourth) for effect in one.effects)


def test_the_fourth_rule_follows_by_itself_because_its_insertions_are_stable() -> None:
    *_, fourth = annotate(checked_program(FOUR_RULES).productions, Semantics.SET)
    assert fourth.fires_at_most_once
    assert [effect.obstacles for effect in fourth.effects] == [(), ()]


def test_rules_that_fire_by_instances_retain_what_their_heads_would_do() -> None:
    annotations = annotate(checked_program(FOUR_RULES).productions, Semantics.INSTANCE)
    assert all(effect.is_retained for one in annotations for effect in one.effects)


def test_example_4_1_an_insertion_that_keeps_the_joined_column_can_be_followed() -> None:
    text = """
    .production instance
    .decl R(x: number, z: number) .decl P(x: number, y: number)
    +P(x, z) :- R(x, z), P(x, y).
    """
    (annotation,) = annotate(checked_program(text).productions, Semantics.INSTANCE)
    assert annotation.changes == (RelationChange("P", Sign.INSERT, frozenset({frozenset({0})})),)
    assert is_autonomous(body_expression(annotation.body), annotation.changes)
    assert annotation.retained == ()


def test_example_4_2_all_but_one_deletion_can_be_followed_and_a_filter_takes_that() -> None:
    expression = body("A(x, y), B(y, z), C(x, u), !D(z, x), !E(z, y)")
    changes = [
        RelationChange("A", Sign.DELETE),
        RelationChange("C", Sign.INSERT, frozenset({frozenset({0})})),
        RelationChange("D", Sign.INSERT),
        RelationChange("E", Sign.INSERT),
        RelationChange("E", Sign.DELETE),
    ]
    assert [(str(who), str(change)) for who, change in obstacles(expression, changes)] == [("!E(z, y)", "-E")]
    (found,) = maximal_profitable(expression, changes)
    assert set(map(str, found.producer)) == {"A(x, y)", "B(y, z)", "C(x, u)", "!D(z, x)"}
    assert [str(one) for one in found.filters] == ["!E(z, y)"]


def test_of_three_that_join_in_a_circle_two_are_retained() -> None:
    changes = [
        RelationChange("A", Sign.INSERT, frozenset({frozenset({1})})),
        RelationChange("B", Sign.DELETE),
        RelationChange("C", Sign.INSERT, frozenset({frozenset({0})})),
    ]
    (found,) = maximal_profitable(body("A(x, y), B(y, z), C(z, x)"), changes)
    assert {str(one) for one in found.producer} == {"A(x, y)", "B(y, z)"}
    assert [str(one) for one in found.filters] == ["C(z, x)"]


def test_different_constants_cannot_meet() -> None:
    text = """
    .production set
    .decl p(x: number, y: number)
    +p(1, y) :- p(2, y).
    """
    assert influence_graph(checked_program(text).productions) == ()


def test_what_an_aggregate_reads_can_add_and_remove() -> None:
    text = """
    .production set
    .decl p(x: number) .decl q(x: number)
    +p(n) :- n = count : { q(_) }.
    +q(x) :- p(x).
    """
    rules = checked_program(text).productions
    assert table(influence_graph(rules), rules)["rule 2", "rule 1"] == {"q + p", "q - p"}
    first, _ = annotate(rules, Semantics.SET)
    assert ("q", "+q") in [(who, str(change)) for effect in first.effects for who, change in effect.obstacles]


def test_what_is_derived_from_what_changes_changes_too() -> None:
    text = """
    .production set
    .decl p(x: number) .decl q(x: number) .decl edge(x: number, y: number) .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    +q(y) :- p(x), path(x, y). [name reads]
    +edge(x, x) :- q(x). [name changes]
    """
    checked = checked_program(text)
    reads, _ = annotate_program(checked)
    assert {str(change) for change in reads.changes} == {"+edge", "-path", "+path"}
    assert not reads.fires_at_most_once


def body(text: str) -> Expression:
    (rule,) = parse(f"h() :- {text}.").rules
    return body_expression(rule.body)


def retained(annotation: Annotation) -> list[tuple[set[str], set[str]]]:
    return [
        ({name(each) for each in one.producer}, {name(each) for each in one.filters}) for one in annotation.retained
    ]


def name(occurrence: object) -> str:
    return str(occurrence).split("(", maxsplit=1)[0]
