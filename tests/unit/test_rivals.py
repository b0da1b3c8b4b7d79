"""The programs that other rule engines are compared on give right answers, by checks that use no engine."""

import sys
from collections.abc import Mapping
from pathlib import Path

import benchmarks
import pytest
from benchmarks.rivals import table
from benchmarks.rivals.problems import Facts, Row, drawing, joined, labels, parties, wrong_rows

import tidelog

PROGRAMS = Path(benchmarks.__file__).parent / "programs"

# Who shares a hobby with whom: 1 and 4, the least that fits, leads nowhere.
ROUNDABOUT: Facts = {
    "guest": [
        (1, name, "m" if name % 2 else "f", hobby)
        for hobby, pair in enumerate([(1, 4), (1, 6), (6, 3), (3, 4), (4, 5), (5, 2)])
        for name in pair
    ],
    "seats": [(1, 6)],
}


@pytest.mark.parametrize("facts", [parties(1, 8), parties(3, 6)], ids=["one party", "three at once"])
def test_every_party_is_seated_by_sex_and_hobbies(facts: Facts) -> None:
    assert wrong_rows(facts, answer("manners.dl", facts, "row")) == ""


def test_the_search_goes_back_from_where_nobody_fits() -> None:
    assert sorted(answer("manners.dl", ROUNDABOUT, "row")) == [
        (1, seat, guest) for seat, guest in enumerate([1, 6, 3, 4, 5, 2], 1)
    ]


def test_a_party_that_cannot_be_seated_has_no_row_beside_one_that_can() -> None:
    facts: Facts = {
        "guest": [(1, 1, "m", 7), (1, 2, "f", 8), (2, 1, "m", 7), (2, 2, "f", 7)],
        "seats": [(1, 2), (2, 2)],
    }
    assert sorted(answer("manners.dl", facts, "row")) == [(2, 1, 1), (2, 2, 2)]


def test_the_check_of_seats_tells_who_does_not_fit() -> None:
    row = [(1, seat, guest) for seat, guest in enumerate([1, 4, 3, 6, 5, 2], 1)]
    assert wrong_rows(ROUNDABOUT, row) == "party 1: 6 and 5 do not fit"
    assert wrong_rows(ROUNDABOUT, row[:-1]) == "party 1 is not seated"


@pytest.mark.parametrize("regions", [1, 3])
def test_labels_are_those_that_a_plain_search_leaves(regions: int) -> None:
    facts = drawing(regions)
    assert set(answer("waltz.dl", facts, "label")) == labels(facts)


def test_stairs_have_one_label_for_each_line_but_the_plate_behind_them_does_not() -> None:
    found: dict[tuple[int | str, int | str], set[int | str]] = {}
    for start, end, label in labels(drawing(1, steps=2)):
        found.setdefault((start, end), set()).add(label)
    unclear = {line for line, said in found.items() if len(said) > 1}
    assert len(found) == 2 * len(drawing(1, steps=2)["line"])
    assert len(unclear) == 6
    assert sum(said == {"-"} for said in found.values()) == 2


def test_the_table_says_how_to_bring_an_engine_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = table.Problem("Waltz", "1 region", "waltz", lambda: drawing(1), table.wrong_labels, 20)
    monkeypatch.setattr(table, "RIVALS", (table.Rival("Nobody", "no_such_engine", "no-such-engine==1", ""),))
    monkeypatch.setattr(table, "PROBLEMS", {"waltz": (small,)})
    assert table.main(["waltz", "--repeat", "1"]) == 0
    said = capsys.readouterr().out
    assert f"Nobody is not there: `{sys.executable} -m pip install no-such-engine==1` brings it" in said
    assert "| 1 region | 0." in said


def test_a_wrong_answer_stands_in_the_table() -> None:
    problem = table.PROBLEMS["waltz"][0]
    facts = problem.facts()
    assert problem.wrong(facts, [(1, 2, "in")]) == "1 labels, not 840"
    assert problem.wrong(facts, list(labels(facts))) == ""


def test_matches_of_channels_are_those_of_both_joins() -> None:
    facts: Facts = {"near": [(1, 2), (3, 4)], "use": [(1, 2), (3, 5)], "request": [(2, 8), (2, 9), (4, 7)]}
    assert joined(facts) == {(1, 8), (1, 9)}


def answer(program: str, facts: Mapping[str, list[Row]], relation: str) -> list[Row]:
    """The rows of `relation` after the rules have run."""
    db = tidelog.open(tidelog.parse_file(PROGRAMS / program))
    for name, rows in facts.items():
        db.insert(name, rows)
    db.run()
    return list(db[relation])
