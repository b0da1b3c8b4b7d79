"""Kernels run plain while there is little to do and compiled from then on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tidelog.kernels import jit
from tidelog.kernels.rows import project
from unit.kernels.forms import CAN_COMPILE, tier

SMALL = """
import sys, tidelog
with tidelog.open(".decl e(x: number, y: number)\\n.decl p(x: number, y: number)\\np(x, y) :- e(x, y).\\n"
                  "p(x, z) :- p(x, y), e(y, z).") as session:
    session.insert("e", [(n, n + 1) for n in range(ROWS)])
    print(len(session["p"].rows()), "numba" in sys.modules)
"""


def run_in_a_new_process(rows, **environment):
    text = SMALL.replace("ROWS", str(rows))
    done = subprocess.run(
        [sys.executable, "-c", text], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_small_program_does_not_load_numba():
    assert run_in_a_new_process(10) == ["55", "False"]


def test_a_larger_program_runs_compiled_and_gives_as_many_rows():
    assert run_in_a_new_process(130) == ["8515", str(CAN_COMPILE)]


def test_numba_stays_away_where_it_is_disabled():
    assert run_in_a_new_process(130, NUMBA_DISABLE_JIT="1") == ["8515", "False"]


@pytest.fixture
def switched(monkeypatch):
    """How often a process that has handled no rows yet switches to compiled code."""
    calls = []
    monkeypatch.setattr(jit, "use_compiled", lambda: calls.append(1))
    monkeypatch.setattr(jit._tier, "rows", 0)
    monkeypatch.setattr(jit._tier, "compiled", False)
    monkeypatch.setattr(jit._tier, "disabled", False)
    return calls


def test_work_adds_up_until_it_is_worth_compiling(switched):
    jit.work(jit.PLAIN_ROWS - 1)
    jit.work(1)
    assert not switched
    jit.work(1)
    assert switched == [1]


def test_work_never_switches_where_compiling_is_disabled(switched, monkeypatch):
    monkeypatch.setattr(jit._tier, "disabled", True)
    jit.work(10 * jit.PLAIN_ROWS)
    assert not switched


@pytest.mark.skipif(not CAN_COMPILE, reason="NUMBA_DISABLE_JIT is set")
def test_the_tier_chooses_the_form(monkeypatch):
    calls = []
    monkeypatch.setattr(project, "_dispatcher", lambda *_: calls.append("compiled"))
    monkeypatch.setattr(project, "python", lambda *_: calls.append("plain"))
    for form in ("compiled", "plain"):
        with tier(form):
            assert jit._tier.compiled == (form == "compiled")
            project()
    assert calls == ["compiled", "plain"]


@pytest.mark.skipif(not CAN_COMPILE, reason="NUMBA_DISABLE_JIT is set")
def test_the_time_that_the_compiler_takes_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path))
    twice = jit.kernel(lambda number: 2 * number)
    with tier("compiled"):
        before = jit.seconds_compiling()
        assert twice(21) == 42
        compiled = jit.seconds_compiling()
        assert twice(22) == 44
    assert before < compiled == jit.seconds_compiling()
