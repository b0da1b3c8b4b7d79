"""A rule that takes long is compiled by another process, and changes over without anybody noticing but the profile."""

from __future__ import annotations

from time import monotonic, sleep

import pytest

import tidelog
from tidelog import Maintenance, Tier
from tidelog.backends.local import tiers
from tidelog.codegen.push_rule import Sharing
from tidelog.plan.nodes import Join, Scan
from unit.kernels.forms import CAN_COMPILE, tier
from unit.local.plans import N, Tables, rule

TEXT = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl text(x: symbol)
text(cat("n", to_string(x))) :- edge(x, _).
"""
AUTO = {"tier": Tier.AUTO, "profile": True, "maintenance": Maintenance(modules=False)}
CHAIN = [(number, number + 1) for number in range(40)]


@pytest.mark.skipif(not CAN_COMPILE, reason="NUMBA_DISABLE_JIT is set")
def test_a_rule_that_takes_long_changes_over_to_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "WORTH_COMPILING", 0.0)
    monkeypatch.setattr(tiers, "WORTH_LOADING", 0.0)
    with (
        tier("compiled"),
        tidelog.open(TEXT, **AUTO) as session,
    ):
        session.insert("edge", CHAIN)
        session.materialize()
        ends = monotonic() + 120
        number = 40
        while monotonic() < ends and not any(Tier.PUSH in cost.tiers for cost in session.profile()):
            sleep(0.1)
            session.insert("edge", [(number, number + 1), (number + 1, number + 2)])
            number += 2
        assert any(cost.tiers == (Tier.VECTORISED, Tier.PUSH) for cost in session.profile())
        assert any("no code for computing with a symbol" in (cost.why_not_pushed or "") for cost in session.profile())
        assert len(session["path"]) == number * (number + 1) // 2


def test_a_rule_that_runs_ahead_changes_over_in_its_first_materialisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "WORTH_LOADING", 0.0)
    monkeypatch.setattr(tiers.jit, "is_compiled", lambda: True)
    monkeypatch.setattr(tiers, "is_on_disk", lambda *_: True)
    monkeypatch.setattr(tiers, "compile_here", lambda *_: None)
    with (
        tier("plain"),
        tidelog.open(TEXT, **AUTO) as session,
    ):
        session.insert("edge", CHAIN)
        assert len(session["path"]) == 40 * 41 // 2
        assert any(cost.tiers == (Tier.VECTORISED, Tier.PUSH) for cost in session.profile())


def test_code_that_cannot_be_compiled_leaves_the_rule_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "WORTH_COMPILING", 0.0)
    monkeypatch.setattr(tiers, "WORTH_LOADING", 0.0)
    monkeypatch.setattr(tiers.jit, "is_compiled", lambda: True)
    monkeypatch.setattr(tiers, "is_on_disk", lambda *_: False)
    ended = []

    class Failed:
        returncode = 1

        def poll(self) -> int:
            ended.append(True)
            return 1

    monkeypatch.setattr(tiers, "compile_elsewhere", lambda _jobs: Failed())
    with (
        tier("plain"),
        tidelog.open(TEXT, **AUTO) as session,
    ):
        session.insert("edge", CHAIN)
        assert len(session["path"]) == 40 * 41 // 2
        assert ended
        assert all(cost.tiers == (Tier.VECTORISED,) for cost in session.profile())


def test_code_is_written_anew_when_what_it_was_written_for_is_no_more() -> None:
    tables = Tables({"e": ((N, N), [(1, 2)]), "l": ((N, N), [(n, n) for n in range(200)]), "h": ((N, N), [])})
    plan = rule("h", Join(Scan("e", ("x", "y")), Scan("l", ("y", "z"))), "x", "z")
    pushing = tiers.Tiers(tables.backend._store, Tier.PUSH, Sharing.ALONE)
    first = pushing.code(plan)
    assert pushing.code(plan) is first
    tables.insert("l", [(n, -n) for n in range(200, 250)])
    assert pushing.code(plan) is first, "rows are as short as before"
    tables.insert("l", [(n, m) for n in range(40) for m in range(40)] + [(n, m) for n in range(250) for m in range(9)])
    second = pushing.code(plan)
    assert first is not None
    assert second is not None
    assert "words" not in first.rule.source
    assert "words" in second.rule.source


def test_a_rule_by_which_a_change_is_followed_has_code_sooner() -> None:
    text = """
    .decl edge(x: number, y: number)
    .decl two(x: number, z: number)
    two(x, z) :- edge(x, y), edge(y, z).
    """
    noted: list[float] = []
    with pytest.MonkeyPatch.context() as patch, tier("plain"), tidelog.open(text) as session:
        patch.setattr(tiers.Tiers, "note", lambda _self, _rule, _seconds, patience=1.0: noted.append(patience))
        session.insert("edge", CHAIN)
        session.materialize()
        assert set(noted) == {1.0}
        noted.clear()
        session.insert("edge", [(40, 41)])
        assert set(noted) == {tiers.PATIENCE_WITH_CHANGES}


def test_rules_that_derive_anew_after_a_change_have_code_sooner() -> None:
    text = """
    .decl edge(x: number, y: number)
    .decl two(x: number, z: number)
    two(x, z) :- edge(x, y), edge(y, z).
    """
    edges = [(number, number + 1) for number in range(300)]
    noted: list[float] = []
    with pytest.MonkeyPatch.context() as patch, tier("plain"), tidelog.open(text) as session:
        patch.setattr(tiers.Tiers, "note", lambda _self, _rule, _seconds, patience=1.0: noted.append(patience))
        session.insert("edge", edges)
        session.materialize()
        assert set(noted) == {1.0}
        noted.clear()
        delta = session.apply(retract={"edge": edges[:200]})
        assert len(delta["two"].vanished) == 200
        assert set(noted) == {tiers.PATIENCE_WITH_CHANGES}


def test_nothing_was_measured_without_a_profile() -> None:
    with tidelog.open(TEXT) as session, pytest.raises(tidelog.UsageError, match="profile=True"):
        session.profile()


def test_a_tier_is_one_of_three() -> None:
    with pytest.raises(tidelog.UsageError, match=r"tidelog\.Tier"):
        tidelog.open(TEXT, tier="fast")  # type: ignore[arg-type]
