"""Random programs of closures: several in one, in every form that is recognised, fed by rules and feeding rules.

Each closure has rules where it begins, one of the forms of `FORMS` or `SEVERAL` or the qualifier `eqrel` or both, and
seldom a rule that leads back into it through another relation. An equivalence relation may also have facts only. What
reads a closure (negations, counts, lookups) may be where the next one begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations

from hypothesis import strategies as st

from fragments import Relation
from rule_strategies import RuleText
from strategies import Sample
from tidelog.schema import Kind, Row

PLACE = re.compile(r"{(\w+)\((\w+),(\w+)\)}")
ATOM = re.compile(r"(?P<negated>!?)\b\w+\((?P<arguments>[^()]*)\)")
AGGREGATE = re.compile(r"{.*}")

NODES = (1, 2, 3, 0, 4, 5)
NUMBER = Kind.NUMBER

EDGE = Relation("e", (NUMBER, NUMBER), 0)
OTHER = Relation("f", (NUMBER, NUMBER), 0)
GROUPED = Relation("g", (NUMBER, NUMBER, NUMBER), 0)
NODE = Relation("n", (NUMBER,), 0)
BASE = (EDGE, OTHER, GROUPED, NODE)
ALIKE = Relation("i", (NUMBER, NUMBER), 0, "eqrel")

SYMMETRY = ("{r(y,x)} :- {r(x,y)}",)
COMPOSITIONS = ("{r(x,z)} :- {r(x,y)}, {r(y,z)}", "{r(x,z)} :- {r(y,z)}, {r(x,y)}")
TURNED = (
    "{r(x,z)} :- {r(x,y)}, {r(z,y)}",
    "{r(x,z)} :- {r(y,x)}, {r(y,z)}",
    "{r(x,z)} :- {r(y,x)}, {r(z,y)}",
)
RIGHT = ("{r(x,z)} :- {r(x,y)}, {s(y,z)}", "{r(x,z)} :- {s(y,z)}, {r(x,y)}")
LEFT = ("{r(x,z)} :- {s(x,y)}, {r(y,z)}", "{r(x,z)} :- {r(y,z)}, {s(x,y)}")

FORMS: tuple[tuple[str, ...], ...] = (
    *((form,) for form in (*COMPOSITIONS, *RIGHT, *LEFT)),
    *((*SYMMETRY, form) for form in (*COMPOSITIONS, *TURNED, *RIGHT, *LEFT)),
    (RIGHT[0], LEFT[0]),
    (COMPOSITIONS[0], RIGHT[0]),
    (TURNED[0],),  # without symmetry this is no closure, only recursion that looks like one
)
"""The rules of each form: `r` is the closure, `s` the relation whose rows it begins with."""

OTHER_START = "{r(x,y)} :- {t(x,y)}"
OTHER_RIGHT = "{r(x,z)} :- {r(x,y)}, {t(y,z)}"
OTHER_LEFT = "{r(x,z)} :- {t(x,y)}, {r(y,z)}"
BACKWARD = ("{r(x,z)} :- {r(x,y)}, {s(z,y)}", "{r(x,z)} :- {r(x,y)}, {t(z,y)}")

SEVERAL: tuple[tuple[str, ...], ...] = (
    (OTHER_START, RIGHT[0], OTHER_RIGHT),
    (OTHER_START, LEFT[0], OTHER_LEFT),
    (OTHER_START, RIGHT[0], OTHER_RIGHT, LEFT[0]),
    (OTHER_START, RIGHT[1], OTHER_RIGHT, LEFT[0], OTHER_LEFT),
    (OTHER_START, *SYMMETRY, RIGHT[0], OTHER_RIGHT, LEFT[0], OTHER_LEFT),
    (OTHER_START, *SYMMETRY, RIGHT[0], OTHER_RIGHT, *BACKWARD),
    (OTHER_START, *SYMMETRY, COMPOSITIONS[0], OTHER_RIGHT),
    (OTHER_START, COMPOSITIONS[0], RIGHT[0], OTHER_LEFT),
    (OTHER_START, TURNED[0], RIGHT[0], OTHER_RIGHT),
    (OTHER_START, RIGHT[0], OTHER_LEFT),  # neither end is extended by both: no closure
    (OTHER_START, RIGHT[0]),
    (RIGHT[0], OTHER_RIGHT),
)
"""The same over two relations, `s` and `t`; where no rule composes, a fact of `r` itself is no edge."""

FEEDERS = (
    "{r(x,y)} :- {lower(x,y)}, !n(x)",
    "{r(x,y)} :- {lower(y,x)}, x < y",
    "{r(x,x)} :- {lower(x,_)}",
    "{r(x,y)} :- {lower(x,z)}, {lower(z,y)}, x != y",
    "{r(x,2)} :- {lower(x,x)}",
    "{r(x,y)} :- {lower(x,z)}, n(z), y = z + 1, y < 6",
    "{r(x,y)} :- ({lower(x,y)}, n(x) ; {lower(y,x)}, n(y))",
    "{r(1,2)} :- n(3)",
)
"""Rules by which a closure begins with more than the rows of one relation."""

LOOPS = (
    ("{q(x,y)} :- {r(x,y)}, n(y)", "{r(x,y)} :- {q(y,x)}"),
    ("{q(x,x)} :- {r(x,y)}, x > y", "{r(x,y)} :- {q(x,z)}, e(z,y)"),
    ("{q(x,y)} :- {r(x,y)}", "{q(x,z)} :- {q(x,y)}, {q(y,z)}", "{r(x,y)} :- {q(x,y)}, x != y"),
    ("{q(x,z)} :- {r(x,y)}, {r(z,y)}, n(z)", "{r(x,y)} :- {q(x,y)}, f(x,y)"),
)
"""Rules of another relation `q` that closes a cycle through the closure."""

READERS = (
    "{q(x,y)} :- n(x), n(y), !{r(x,y)}",
    "{q(x,y)} :- n(x), y = count : {{ {r(x,_)} }}",
    "{q(x,y)} :- {r(x,_)}, y = min z : {{ {r(x,z)} }}",
    "{q(x,y)} :- {r(_,x)}, y = max z : {{ {r(z,x)}, z < 4 }}",
    "{q(x,x)} :- {r(x,x)}",
    "{q(x,y)} :- {r(x,y)}, {r(y,x)}",
    "{q(x,y)} :- {r(x,z)}, e(z,y)",
    "{q(1,x)} :- x = sum z : {{ {r(2,z)} }}",
    "{q(x,y)} :- e(x,y), !{r(_,x)}",
)
"""Rules of another relation `q` that reads the closure."""


@st.composite
def closure_programs(draw: st.DrawFn) -> Sample:
    """One to three closures with what feeds and reads them, and facts for the base relations."""
    base = [*BASE, ALIKE] if draw(st.integers(0, 2)) == 2 else list(BASE)
    relations = list(base)
    rules: list[str] = []
    for number in range(draw(st.sampled_from([1, 2, 2, 3]))):
        new, texts = draw(closure(number, relations))
        relations += new
        rules += texts
    facts = {relation.name: draw(few_rows(relation)) for relation in base}
    return Sample(tuple(relations), tuple(rule_text(rule) for rule in rules), facts)


@st.composite
def closures_with_facts(draw: st.DrawFn) -> Sample:
    """The same, with facts given to the closures themselves."""
    sample = draw(closure_programs())
    closed = [relation for relation in sample.relations if relation.name.startswith("r")]
    facts = {relation.name: draw(few_rows(relation, at_least=1)) for relation in closed if draw(st.integers(0, 3))}
    return Sample(sample.relations, sample.rules, {**sample.facts, **facts})


@st.composite
def closure(draw: st.DrawFn, number: int, below: Sequence[Relation]) -> tuple[list[Relation], list[str]]:
    """A closure over one of the relations `below`, with the relations and rules around it."""
    layer = 2 * number + 1
    sources = [relation for relation in below if len(relation.kinds) > 1]
    source = draw(st.sampled_from(sources[::-1]))
    is_declared = len(source.kinds) == 2 and draw(st.integers(0, 3)) == 3
    own = Relation(f"r{number}", source.kinds, layer, "eqrel" if is_declared else "")
    beside = Relation(f"q{number}", (NUMBER, NUMBER), layer)
    above = Relation(f"u{number}", (NUMBER, NUMBER), layer + 1)
    places = {
        "r": draw(layout(own)),
        "s": draw(layout(source)),
        "t": draw(layout(draw(st.sampled_from([one for one in sources if len(one.kinds) == len(source.kinds)])))),
        "q": Layout(beside, (0, 1)),
        "lower": draw(layout(draw(st.sampled_from(sources)))),
    }
    forms = (*FORMS, *SEVERAL)
    if is_declared:
        forms = ((),) * len(forms) + forms
    rules = ["{r(x,y)} :- {s(x,y)}", *draw(st.sampled_from(forms))]
    rules += draw(st.lists(st.sampled_from(FEEDERS), max_size=2, unique=True))
    new = [own]
    if draw(st.integers(0, 2)) == 2:
        rules += draw(st.sampled_from(LOOPS))
        new.append(beside)
    texts = [filled(rule, places) for rule in rules]
    readers = draw(st.lists(st.sampled_from(READERS), max_size=2, unique=True))
    texts += [filled(rule, {**places, "q": Layout(above, (0, 1))}) for rule in readers]
    return ([*new, above] if readers else new), texts


class Layout:
    """Where the two ends of an edge stand among the columns of a relation; the column left over is the group."""

    def __init__(self, relation: Relation, ends: tuple[int, int]) -> None:
        self.relation, self.ends = relation, ends

    def atom(self, first: str, second: str) -> str:
        columns = ["k"] * len(self.relation.kinds)
        columns[self.ends[0]], columns[self.ends[1]] = first, second
        return f"{self.relation.name}({', '.join(columns)})"


def layout(relation: Relation) -> st.SearchStrategy[Layout]:
    """The ends of an edge at any two columns, in either order."""
    ends = list(permutations(range(len(relation.kinds)), 2))
    return st.sampled_from(ends).map(lambda chosen: Layout(relation, chosen))


def filled(rule: str, places: dict[str, Layout]) -> str:
    """`rule` with the atoms of its relations; a group that nothing else binds is that of some node."""
    text = (
        PLACE.sub(lambda found: places[found[1]].atom(found[2], found[3]), rule).replace("{{", "{").replace("}}", "}")
    )
    head, body = text.split(" :- ")
    outside = AGGREGATE.sub("", body)
    asked = any("k" in variables(found) for found in ATOM.finditer(f"{head}, {outside}"))
    bound = any("k" in variables(found) for found in ATOM.finditer(outside) if not found["negated"])
    return text if bound or not asked else f"{text}, n(k)"


def variables(atom: re.Match[str]) -> list[str]:
    return atom["arguments"].split(", ")


def rule_text(rule: str) -> RuleText:
    """A rule as the other strategies keep it: its body is one piece, so that nothing takes it apart."""
    head, body = rule.split(" :- ")
    return RuleText((head,), (body,))


def few_rows(relation: Relation, at_least: int = 2) -> st.SearchStrategy[list[Row]]:
    """A few rows over few nodes: of two groups where there are three columns."""
    row = st.tuples(*[st.sampled_from(NODES)] * len(relation.kinds))
    return st.lists(row, min_size=at_least, max_size=8)
