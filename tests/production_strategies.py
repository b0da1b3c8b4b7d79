"""Random programs of production rules over three values, so that every run comes to an end or goes round."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tidelog.schema import Row

ARITIES = {"a": 1, "b": 2, "c": 2, "e": 2, "d": 3}
"""The relations that rules act on; `e` is only read."""

VIEWS = {"v": 2, "w": 1}
"""The relations that ordinary rules derive from them."""

DECLARATIONS = """\
.decl a(x: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
.decl d(x: number, y: number, z: number)
.decl e(x: number, y: number)
.decl v(x: number, y: number)
.decl w(x: number)
v(x, y) :- e(x, y), !a(x).
v(x, z) :- v(x, y), c(y, z).
w(n) :- n = count : { b(_, _) }.
"""


@dataclass(frozen=True)
class ProductionSample:
    """A program and facts for it."""

    semantics: str
    rules: tuple[str, ...]
    facts: dict[str, list[Row]]

    @property
    def text(self) -> str:
        return f".production {self.semantics}\n{DECLARATIONS}" + "".join(f"{rule}\n" for rule in self.rules)


@st.composite
def production_programs(draw: st.DrawFn, *semantics: str) -> ProductionSample:
    """One to four production rules, some with priorities, that fire in one of these ways."""
    chosen = draw(st.sampled_from(semantics))
    rules = tuple(draw(production_rule(chosen)) for _ in range(draw(st.integers(1, 4))))
    facts = {name: draw(rows_of(arity)) for name, arity in ARITIES.items()}
    return ProductionSample(chosen, rules, facts)


def rows_of(arity: int) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(*[st.integers(1, 3)] * arity), max_size=4)


@st.composite
def production_rule(draw: st.DrawFn, semantics: str) -> str:
    body: list[str] = []
    bound: list[str] = []
    for _ in range(draw(st.sampled_from([1, 2, 2, 3, 0]))):
        name, arity = draw(st.sampled_from([*ARITIES.items(), *VIEWS.items()]))
        arguments = [draw(st.sampled_from(["x", "y", "z", "x", "y", "_", "2"])) for _ in range(arity)]
        body.append(f"{name}({', '.join(arguments)})")
        bound += [argument for argument in arguments if argument in "xyz"]
    terms = st.sampled_from([*bound, *bound, "1", "3"])
    for _ in range(draw(st.sampled_from([0, 1, 0]))):
        name, arity = draw(st.sampled_from([*ARITIES.items(), *VIEWS.items()]))
        body.append(f"!{name}({', '.join(draw(terms) for _ in range(arity))})")
    if bound and draw(st.sampled_from([False, False, True])):
        body.append(f"{draw(terms)} {draw(st.sampled_from(['<', '!=', '<=']))} {draw(terms)}")
    if len(body) > 1 and draw(st.sampled_from([False, False, False, True])):
        name, arity = draw(st.sampled_from([*ARITIES.items()]))
        body = [f"({', '.join(body)} ; {name}({', '.join(draw(terms) for _ in range(arity))}), {', '.join(body)})"]
    heads = []
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        name, arity = draw(st.sampled_from([(name, arity) for name, arity in ARITIES.items() if name != "e"]))
        heads.append(f"{draw(st.sampled_from('+-'))}{name}({', '.join(draw(terms) for _ in range(arity))})")
    text = f"{', '.join(heads)} :- {', '.join(body)}." if body else f"{', '.join(heads)}."
    priority = draw(st.sampled_from([None, None, 1, 2]))
    return text if priority is None or semantics == "parallel" else f"{text} [priority {priority}]"
