"""A run that comes back to a state is noticed, however its facts came and went in between."""

from collections.abc import Iterable

from tidelog.analysis.check import check
from tidelog.backends.local.backend import LocalBackend
from tidelog.connectors.frames import to_table
from tidelog.language.parser import parse
from tidelog.maintain.journal import Net
from tidelog.production.repetition import MANY_CYCLES, Repetition

SCHEMAS = check(parse(".decl p(x: number)\n.decl q(x: number)\n")).schemas


def lengths(*cycles: dict[str, tuple[Iterable[int], Iterable[int]]]) -> list[int | None]:
    """What is said after each cycle, which has inserted and deleted these numbers."""
    backend = LocalBackend(SCHEMAS)
    repetition = Repetition(backend, list(SCHEMAS.values()))

    def net(relation: str, came: Iterable[int], went: Iterable[int]) -> Net:
        rows = [to_table([(number,) for number in some], SCHEMAS[relation]) for some in (came, went)]
        return Net(*(backend.facts(relation, some) for some in rows))

    return [
        repetition.length_after({relation: net(relation, *changed) for relation, changed in cycle.items()})
        for cycle in cycles
    ]


def test_a_fact_that_comes_and_goes_leads_back() -> None:
    assert lengths({"p": ([1], [])}, {"p": ([], [1])}, {"p": ([1], [])}) == [None, None, 2]


def test_relations_that_are_as_large_as_before_may_still_be_different() -> None:
    assert lengths({"p": ([1], [2])}, {"p": ([3], [1])}, {"p": ([2], [3])}) == [None, None, None]


def test_facts_that_move_between_relations_lead_back_when_all_have_returned() -> None:
    there, back = {"p": ([], [1]), "q": ([1], [])}, {"p": ([1], []), "q": ([], [1])}
    assert lengths({"p": ([5], [])}, there, back) == [None, None, 2]


def test_what_was_put_aside_while_relations_grew_counts_when_they_have_shrunk() -> None:
    start = [{"q": ([number], [])} for number in (7, 8, 9)]
    assert lengths(*start, {"p": ([1, 2], [])}, {"p": ([], [2])}, {"p": ([], [1])})[-2:] == [None, 3]


def test_a_way_round_that_is_longer_than_what_is_put_aside_is_found() -> None:
    ways = 2 * MANY_CYCLES + 5
    turn = [{"p": ([(number + 1) % ways], [number])} for number in range(ways)]
    said = lengths({"p": ([0], [])}, *turn, *turn, *turn)
    assert ways in said
    assert {*said[: said.index(ways)]} == {None}
