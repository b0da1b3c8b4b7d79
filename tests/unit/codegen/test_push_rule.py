"""The text that is generated for rules: stable, and about the arrays that the engine has."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import tidelog
from tidelog import Maintenance, Tier
from tidelog.backends.local import pushing as pushing_file
from tidelog.backends.local.operands import bind
from tidelog.cli.compile import sources
from tidelog.codegen.operands import PushedRule
from tidelog.codegen.push_rule import push_rule
from unit.kernels.forms import tier
from unit.local.test_tiers import EDGES, PROGRAMS

GOLDEN = Path(__file__).parent / "pushed.txt"

TEXT = """
.decl edge(x: number, y: number)
.decl load(x: number, y: number)
.decl points(x: number, y: number)
.decl far(x: number, y: number, d: number)
.decl odd(x: number)
points(x, y) :- edge(x, y).
points(y, w) :- load(y, x), points(x, z), points(z, w).
far(x, y, d + 1) :- points(x, y), odd(x), !edge(y, x), d = x - y, d > 3.
odd(x) :- edge(x, 7), x != 3.
odd(n) :- edge(x, _), n = count : { edge(x, _) }.
"""


def text_of(program: str) -> str:
    return "\n\n".join(sources(tidelog.check(tidelog.parse(program)))) + "\n"


def test_the_code_of_a_program_is_stable() -> None:
    """Where a change is meant: `python -m unit.codegen.test_push_rule` in `tests` writes the text anew."""
    assert text_of(TEXT) == GOLDEN.read_text(encoding="utf-8")


def test_a_rule_without_code_says_why() -> None:
    assert "# runs as batches: no code for an aggregate" in text_of(TEXT)


def test_nothing_of_a_program_becomes_code_by_accident() -> None:
    text = """.decl p(x: symbol)\n.decl q(x: symbol)\nq(x) :- p(x), x != "\\"\\"\\"\\nimport os"."""
    program = tidelog.parse(text, 'a"""\n    import os\n    """.dl')
    code = "\n".join(sources(tidelog.check(program)))
    (function,) = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef)
    assert not any(isinstance(node, ast.Import) for node in ast.walk(function))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("jobs", [1, 2])
def test_code_is_compiled_for_the_arrays_that_it_gets(name: str, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def checking(operands, *arguments):
        bound = bind(operands, *arguments)
        forms = [form for operand in operands for form in operand.parts.values()]
        assert [form_of(argument) for argument in bound] == forms
        return bound

    monkeypatch.setattr(pushing_file, "bind", checking)
    options = {"tier": Tier.PUSH, "jobs": jobs, "maintenance": Maintenance(modules=False)}
    with tier("plain"), tidelog.open(PROGRAMS[name], **options) as session:
        session.insert("edge", EDGES)
        session.materialize()
        session.apply(retract={"edge": EDGES[:20]})


@pytest.mark.parametrize(("jobs", "pushing"), [(1, "push"), (2, "share")])
def test_every_way_to_gather_is_in_the_code(jobs: int, pushing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def noting(*arguments):
        found = push_rule(*arguments)
        texts.extend([found.source] if isinstance(found, PushedRule) else [])
        return found

    monkeypatch.setattr(pushing_file, "push_rule", noting)
    program = PROGRAMS["ids that are gathered before they are pushed"]
    options = {"tier": Tier.PUSH, "jobs": jobs, "maintenance": Maintenance(modules=False)}
    for has_long_rows in (True, False):
        monkeypatch.setattr(pushing_file.StoreSurroundings, "has_long_rows", lambda *_, answer=has_long_rows: answer)
        with (
            tier("plain"),
            tidelog.open(program, **options) as session,
        ):
            session.insert("edge", EDGES)
            session.materialize()
    assert any("end_of_run(" in source and f"{pushing}_gathered(" in source for source in texts)
    assert any("gather_block(" in source and f"{pushing}_gathered(" in source for source in texts)
    assert any("take_gathered(" in source and f"{pushing}_words(" in source for source in texts)
    shared = [source for source in texts if "_sink_cells" in source and " share_" in source]
    assert bool(shared) is (jobs > 1)
    assert all("mine_of(" in source or "is_mine(" in source for source in shared)


def form_of(argument: object) -> list[object]:
    if not isinstance(argument, np.ndarray):
        assert type(argument) is int
        return []
    assert argument.flags.writeable
    return [argument.dtype.name, argument.ndim, "C" if argument.flags.c_contiguous else "A"]


if __name__ == "__main__":
    GOLDEN.write_text(text_of(TEXT), encoding="utf-8")
