"""Costs that are measured overturn a choice, in both directions, and a right choice is left alone."""

from collections.abc import Callable

from tidelog.production.network.measured_choice import MeasuredChoice, Overturned


def tried(seconds: Callable[[int, int], float], tries: int) -> tuple[MeasuredChoice, list[tuple[int, Overturned]]]:
    """Tries whose cost depends on the way and on how many there were before; and what was overturned at which."""
    choice = MeasuredChoice([True, False])
    found = []
    for number in range(tries):
        overturned = choice.note(seconds(choice.current, number))
        if overturned is not None:
            found.append((number, overturned))
    return choice, found


def test_the_quicker_of_two_ways_is_chosen() -> None:
    choice, found = tried(lambda way, _: 0.01 if way == 0 else 0.002, 100)
    assert choice.current == 1
    ((_, overturned),) = found
    assert overturned.after < overturned.before


def test_what_is_dropped_comes_back_when_the_other_way_has_become_dear() -> None:
    choice, found = tried(lambda way, number: 0.01 if way == 0 else 0.002 if number < 100 else 0.05, 400)
    assert choice.current == 0
    assert len(found) == 2


def test_a_right_choice_is_questioned_less_and_less() -> None:
    asked: list[int] = []

    def seconds(way: int, number: int) -> float:
        if way == 1:
            asked.append(number)
        return 0.01 if way == 0 else 0.05

    choice, found = tried(seconds, 1000)
    assert (choice.current, found) == (0, [])
    assert 0 < len(asked) <= 24
    assert len([number for number in asked if number < 200]) > len([number for number in asked if number >= 800])


def test_short_runs_compare_nothing() -> None:
    choice, _ = tried(lambda way, _: 0.0001 if way == 0 else 1.0, 150)
    assert not choice.is_comparing
    assert choice.current == 0
