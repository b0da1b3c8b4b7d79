"""A budget counts work, not the time that others took."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

import pytest

from tidelog.maintain import budget
from tidelog.maintain.budget import Budget, OverBudget


@pytest.fixture(autouse=True)
def _no_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LEAST", 0.0)


def wait(check: Callable[[], None]) -> str:
    for _ in range(3):
        sleep(0.01)
        check()
    return "done"


def test_work_that_waits_is_not_stopped() -> None:
    purse = Budget(0.015, lambda: 0.0)
    assert purse.spend(wait) == "done"
    assert purse.seconds == 0.015


def test_work_that_goes_over_is_stopped_and_so_is_what_comes_after() -> None:
    purse = Budget(0.015, monotonic)
    with pytest.raises(OverBudget):
        purse.spend(wait)
    with pytest.raises(OverBudget):
        purse.spend(lambda _check: pytest.fail("nothing is left to spend"))
