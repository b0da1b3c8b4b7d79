"""A budget counts work, not the time that others took."""

from __future__ import annotations

from time import monotonic, sleep

import pytest

from tidelog.maintain import budget
from tidelog.maintain.budget import Budget, InVain, OverBudget


@pytest.fixture(autouse=True)
def _no_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LEAST", 0.0)


def wait(purse: Budget) -> None:
    with purse:
        for _ in range(3):
            sleep(0.01)
            purse.check()


def test_work_that_waits_is_not_stopped() -> None:
    purse = Budget(0.015, lambda: 0.0)
    wait(purse)
    assert purse.seconds == 0.015


def test_work_that_goes_over_is_stopped_and_so_is_what_comes_after() -> None:
    purse = Budget(0.015, monotonic)
    with pytest.raises(OverBudget):
        wait(purse)
    with pytest.raises(OverBudget), purse:
        pytest.fail("nothing is left to spend")


def test_what_was_tried_in_vain_is_not_tried_again_until_that_is_made_up_for() -> None:
    vain = InVain(changed=10, doubted=100, seconds=0.5)
    assert not vain.rules_out(12, otherwise=2.0)
    assert vain.rules_out(13, otherwise=2.0)
    assert vain.rules_out(200, otherwise=2.0)
    assert not vain.rules_out_change(9, otherwise=2.0)
    assert vain.rules_out_change(10, otherwise=2.0)
    assert not vain.rules_out(100, otherwise=2.0)
