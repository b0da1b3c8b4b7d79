"""What is made of a thing is made once for it, and for no other that only looks the same."""

from __future__ import annotations

from tidelog.plan import same
from tidelog.plan.nodes import Scan, Version
from tidelog.plan.same import Alike, forgetful, once_for_each


def test_it_is_made_once_for_each_thing_not_for_each_value(monkeypatch) -> None:
    monkeypatch.setattr(same, "THINGS_KEPT", 2)
    asked: list[Scan] = []
    made = once_for_each(lambda scan: asked.append(scan) or len(asked))
    one, equal, other = Scan("a", ("x",)), Scan("a", ("x",)), Scan("b", ("x",))
    assert [made(one), made(equal), made(one), made(equal)] == [1, 2, 1, 2]
    assert [made(other), made(one), made(one)] == [3, 4, 4]


def test_things_are_alike_if_all_that_they_hold_is_the_same() -> None:
    first = Alike(Scan("a", ("x",)))
    kept = {first: "known"}
    assert kept[Alike(Scan("a", ("x",)))] == "known"
    assert Alike(Scan("a", ("x",), Version.DELTA)) not in kept


def test_what_forgets_starts_over_when_it_holds_as_much_as_it_may() -> None:
    kept: dict[int, int] = {}
    for number in range(5):
        forgetful(kept, 2)[number] = number
    assert kept == {4: 4}
