"""What a session holds is free as soon as nobody has the session: Python need not look for circles first."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from weakref import ref

import pytest

import tidelog
from tidelog import Session
from tidelog.backends.local.store import Store
from tidelog.production.cycle import run_rules

REACH = """
    .decl edge(a: number, b: number)
    .decl path(a: number, b: number)
    path(a, b) :- edge(a, b).
    path(a, c) :- path(a, b), edge(b, c).
    .decl far(a: number, n: number)
    far(a, n) :- edge(a, _), n = count : { path(a, _) }.
"""
SAME_GENERATION = """
    .decl edge(a: number, b: number)
    .decl same(a: number, b: number)
    same(x, y) :- edge(p, x), edge(p, y), x != y.
    same(x, y) :- edge(a, x), same(a, b), edge(b, y).
"""
COUNT = """
    .production set
    .decl at(n: number)
    .decl most(n: number)
    .decl fewer(n: number)
    fewer(n + 1) :- most(n).
    -at(n), +at(n + 1) :- at(n), most(m), n < m.
"""


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ref[Store]]]:
    """All stores that are made; circles are not looked for."""
    made: list[ref[Store]] = []
    plain: Callable[..., None] = Store.__init__

    def noted(self: Store, *arguments: object) -> None:
        made.append(ref(self))
        plain(self, *arguments)

    monkeypatch.setattr(Store, "__init__", noted)
    gc.disable()
    yield made
    gc.enable()


def derive(db: Session) -> None:
    db.insert("edge", [(number, number + 1) for number in range(20)])
    assert len(db["path"]) == 210
    with db.whatif(retract={"edge": [(3, 4)]}) as other:
        assert len(other["path"]) < 210
    db.apply(insert={"edge": [(20, 21)]}, retract={"edge": [(0, 1)]})
    assert len(db.query("path(1, X)"))
    db.undo()


def derive_same(db: Session) -> None:
    db.insert("edge", [(number // 3, number) for number in range(1, 200)])
    assert len(db["same"]) == 17_242


def fire(db: Session) -> None:
    db.insert("at", [(1,)])
    db.insert("most", [(50,)])
    db.run()
    assert list(db["at"]) == [(50,)]
    assert len(db.history("at", (7,))) == 3


@pytest.mark.parametrize(("program", "use"), [(REACH, derive), (SAME_GENERATION, derive_same), (COUNT, fire)])
@pytest.mark.parametrize("tier", [tidelog.Tier.AUTO, tidelog.Tier.VECTORISED, tidelog.Tier.PUSH])
def test_a_session_that_nobody_has_is_gone(program, use, tier, stores):
    use(tidelog.open(program, tier=tier))  # Numba makes circles when it compiles
    stores.clear()
    db = tidelog.open(program, tier=tier)
    use(db)
    assert stores
    del db
    assert not [store for store in stores if store() is not None]


@pytest.mark.usefixtures("stores")
def test_what_a_run_needed_is_gone_when_it_is_over():
    db = tidelog.open(COUNT)
    db.insert("at", [(1,)])
    db.insert("most", [(50,)])
    backend = db._model._backend.fresh(db.schemas)
    own = ref(backend)
    result = run_rules(db.program, backend, {"at": db["at"].to_arrow(), "most": db["most"].to_arrow()})
    assert result.cycles == 49
    del backend
    assert own() is None
