"""Another process compiles not only the code of a rule, but all that is needed to use it: nobody waits for the rest."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from threading import local
from typing import Any

import numpy as np
import pytest

import tidelog
from tidelog import Maintenance, Tier
from tidelog.backends.local import compiling, together
from tidelog.backends.local.compiling import KERNELS, compile_elsewhere, forms_of, kernels_beside
from tidelog.backends.local.pushing import PushedCode
from tidelog.backends.local.runs import Runs
from tidelog.codegen.operands import ChangedKeys, Operand, PushedRule, RowsOf, RunsOf, Sink, Words
from tidelog.codegen.push_rule import Sharing
from tidelog.facts.relation import Relation
from tidelog.kernels import elsewhere
from tidelog.kernels.generated import generated_kernel, is_on_disk
from tidelog.kernels.jit import Kernel
from tidelog.plan.nodes import Version
from unit.kernels.forms import CAN_COMPILE, form, tier

PROGRAM = """
    .decl edge(x: number, y: number)
    .decl path(x: number, y: number)
    .decl near(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), path(y, z).
    near(x, y) :- edge(z, x), edge(z, y), x < y.
    near(x, y) :- edge(a, x), near(a, b), edge(b, y).
"""
EDGES = [(number % 90, number * number % 97) for number in range(200)]
ROWS = RowsOf("edge", Version.DELTA)

Called = dict[str, list[list[list[Any]]]]
"""The forms of what kernels were given, by their names."""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Callable[[Tier, int], Called]:
    """Runs the program in one of the tiers with so many threads; which kernels Python called, not other kernels."""
    call, depth = Kernel.__call__, local()
    given: Called = {}

    def noting(kernel: Kernel[..., Any], *arguments: Any) -> Any:
        inside = getattr(depth, "value", 0)
        if not inside:
            given.setdefault(kernel.__name__, [])
            if kernel in KERNELS.values():
                given[kernel.__name__].append([form(argument) for argument in arguments])
        depth.value = inside + 1
        try:
            return call(kernel, *arguments)
        finally:
            depth.value = inside

    def run(how: Tier, jobs: int) -> Called:
        given.clear()
        with (
            tier("plain"),
            tidelog.open(PROGRAM, jobs=jobs, tier=how, maintenance=Maintenance(modules=False)) as session,
        ):
            session.insert("edge", EDGES)
            session.retract("edge", EDGES[::7])
            session.insert("edge", EDGES[::7])
            assert session["near"].rows()
        return dict(given)

    monkeypatch.setattr(together, "_WORTH_SHARING", 0)
    monkeypatch.setattr(Kernel, "__call__", noting)
    return run


def test_kernels_are_compiled_for_what_a_run_gives_them(called: Callable[[Tier, int], Called]) -> None:
    seen = set()
    for jobs in (1, 2):
        for name, forms in called(Tier.PUSH, jobs).items():
            if name in KERNELS:
                seen.add(name)
                assert all(each == forms_of(KERNELS[name]) for each in forms), name
    assert seen == KERNELS.keys() - {"gather_words"}, "ids would have to lie further apart"


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_that_only_code_needs_is_compiled(called: Callable[[Tier, int], Called], jobs: int) -> None:
    by_code, in_batches = called(Tier.PUSH, jobs).keys(), called(Tier.VECTORISED, jobs).keys()
    assert by_code - in_batches - {"push"} <= KERNELS.keys()


def code(*operands: Operand, source: str = "def push(begin, end):\n    return end\n") -> PushedCode:
    return PushedCode(PushedRule(source, operands, ROWS), generated_kernel(source), Sharing.ALONE)


def test_no_code_waits_for_kernels_that_it_does_not_need() -> None:
    words = kernels_beside(code(Words("edge", 0, Version.FULL)))
    assert "merge_words" in words
    assert kernels_beside(code(ROWS)) == []
    assert kernels_beside(code(RunsOf("edge"))) == ["find_runs", "sort_into_runs"]
    assert kernels_beside(code(ChangedKeys("edge", 0), Words("edge", 1, Version.DELTA))) == words
    assert "settle_pairs" in kernels_beside(code(Sink("path", 2)))
    assert "settle_pairs" not in kernels_beside(code(Sink("path", 1)))


@pytest.mark.skipif(not CAN_COMPILE, reason="NUMBA_DISABLE_JIT is set")
def test_who_takes_code_over_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import event

    compiled: list[str] = []

    class Compilations(event.Listener):
        def on_start(self, started: Any) -> None:
            compiled.append(started.data["dispatcher"].py_func.__name__)

        def on_end(self, _ended: Any) -> None: ...

    given: list[Any] = []
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(elsewhere, "start_compiler", lambda module, jobs: given.extend([module, jobs]))
    monkeypatch.setattr(elsewhere, "let_others_go_first", lambda: None)
    reading = code(RunsOf("edge"), source="def push(rows, begin, end):\n    return end  # nothing else has this text\n")
    compile_elsewhere([reading])
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(given[1])))
    assert given[0] == "tidelog.backends.local.compiling"
    assert not is_on_disk(reading.rule.source, reading.rule.forms)

    with tier("compiled"), monkeypatch.context() as other_process:
        for name in kernels_beside(reading):
            other_process.setattr(KERNELS[name], "_dispatcher", None)
        compiling.main()
    assert is_on_disk(reading.rule.source, reading.rule.forms)

    edge = Relation(2)
    edge.stage(np.array(EDGES, np.int32))
    edge.advance()
    with (
        tier("compiled"),
        monkeypatch.context() as this_process,
        event.install_listener("numba:compile", Compilations()),
    ):
        for name in kernels_beside(reading):
            this_process.setattr(KERNELS[name], "_dispatcher", None)
        assert Runs(edge).delta().shape[0] == edge.stored
        assert not compiled
