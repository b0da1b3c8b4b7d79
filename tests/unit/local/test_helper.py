"""Threads of a team do what they are handed, report how it ended, and go when the team goes."""

from __future__ import annotations

import gc
from threading import current_thread
from time import monotonic, sleep
from typing import NoReturn
from weakref import ref

import pytest

from tidelog.backends.local.helper import Helper
from tidelog.backends.local.team import Team


def test_each_thread_of_a_team_takes_one():
    threads = Team(3).map(lambda number: (number, current_thread()), range(3))
    assert [number for number, _ in threads] == [0, 1, 2]
    assert len({thread for _, thread in threads}) == 3
    assert threads[0][1] is current_thread()


def test_tasks_are_done_once_each():
    done: list[int] = []
    Team(2).do_all([lambda number=number: done.append(number) for number in range(100)])
    assert sorted(done) == list(range(100))


@pytest.mark.parametrize("place", [0, 1])
def test_an_error_in_any_thread_is_raised_once_the_others_have_ended(place: int):
    ended: list[int] = []

    def work(number: int) -> None:
        if number == place:
            raise ValueError(number)
        sleep(0.01)
        ended.append(number)

    team = Team(2)
    with pytest.raises(ValueError, match=str(place)):
        team.map(work, range(2))
    assert ended == [1 - place]
    assert team.map(lambda number: number, range(2)) == [0, 1]


def test_a_helper_ends_with_its_owner_and_keeps_nothing_that_it_was_handed():
    class Handed:
        pass

    helper, handed = Helper(), Handed()
    thread = helper.start(lambda _: current_thread(), handed).get().result()
    kept = ref(handed)
    del handed
    assert_soon(lambda: kept() is None)
    del helper
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_what_work_raises_is_the_result():
    def fail(_: int) -> NoReturn:
        raise KeyError("no")

    ended = Helper().start(fail, 0).get()
    with pytest.raises(KeyError, match="no"):
        ended.result()


def assert_soon(is_true) -> None:
    deadline = monotonic() + 5
    while not is_true() and monotonic() < deadline:
        sleep(0.001)
    assert is_true()


def test_a_thread_does_not_keep_a_process_alive():
    assert Helper().start(lambda _: current_thread().daemon, 0).get().result()
