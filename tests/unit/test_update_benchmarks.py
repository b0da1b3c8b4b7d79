"""The benchmark of changes measures what it says: it notices wrong rows, and goals are met or missed by ratios."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks import update_measure, updates
from benchmarks.__main__ import main
from benchmarks.change_shares import Work, work_of
from benchmarks.generators import prepare_sample
from benchmarks.paper_tables import paper_tables
from benchmarks.runner import Failure
from benchmarks.update_measure import Figures, chosen, measure, without
from benchmarks.updates import Request, of_from_nothing, times_faster
from benchmarks.workloads import PROGRAMS
from numpy.random import default_rng

TASKS = ("single:2", "some:4", "quarter")


@pytest.mark.parametrize("program", ["sg_graph", "tc_dag1k_nl", "cc_small"])
def test_every_task_is_timed_and_leads_to_the_rows_of_starting_over(program: str, tmp_path: Path) -> None:
    folder = prepare_sample({"edge": 2}, tmp_path / "facts")
    figures = measure(PROGRAMS / f"{program}.dl", folder, True, TASKS)
    assert figures.wrong == ()
    assert set(figures.seconds) == {f"{word} {task}" for word in ("delete", "insert") for task in TASKS}
    assert all(seconds > 0 for seconds in figures.seconds.values())


def test_rows_that_differ_from_starting_over_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(100))
    monkeypatch.setattr(update_measure, "sizes", lambda _: {"path": next(numbers)})
    figures = measure(PROGRAMS / "tc_dag1k_lin.dl", prepare_sample({"edge": 2}, tmp_path / "facts"), True, ("some:4",))
    assert len(figures.wrong) == 2


def test_facts_are_chosen_among_all_relations() -> None:
    facts = {"a": np.arange(6).reshape(3, 2), "b": np.arange(10, 14).reshape(2, 2)}
    drawn: Counter[str] = Counter()
    for seed in range(50):
        rows = chosen(facts, 2, default_rng(seed))
        assert sum(map(len, rows.values())) == 2
        drawn.update(rows.keys())
    assert drawn.keys() == {"a", "b"}
    assert without(facts["a"], facts["a"][1:]).tolist() == [[0, 1]]


def test_goals_are_met_or_missed_by_ratios() -> None:
    fast, slow = Figures(0.01, {"delete quarter": 0.02}), Figures(2.0)
    assert times_faster("", fast, slow, goal=100).met is True
    assert times_faster("", fast, fast, goal=100).met is False
    assert of_from_nothing("", fast, "delete quarter", goal=1.2).met is False
    assert of_from_nothing("", fast, "delete quarter", goal=None).met is None


def test_a_run_that_was_stopped_gives_a_lower_bound() -> None:
    stopped = Failure("over 600", "took over 600 s and was stopped")
    line = times_faster("", Figures(0.5), stopped, goal=100)
    assert (line.comparison, line.met) == ("over 1,200 × faster", True)
    assert times_faster("", Figures(50.0), stopped, goal=100).met is None


def test_the_table_of_the_paper_stands_beside_ours() -> None:
    ours = {Request("tc_dag10k_nl", "tc_dag10k"): Figures(0.5, {"delete some:1000": 0.1, "insert some:1000": 0.2})}
    text = paper_tables(ours)
    assert "| DAG-R | 0.1 M | 22.9 M | 29.60 | 3238.86 | 109.4 | tc_dag10k_nl | 0.5000 | – | – |" in text
    assert "| DAG-R | 1,000 deleted | 64.92 | 3005.11 | 2.1932 | tc_dag10k_nl | 0.1000 | – | 0.2000 |" in text


def test_the_command_prints_the_tables_and_complains_about_wrong_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = json.dumps({"from_nothing": 1.0, "seconds": {}, "wrong": ["quarter: 3 rows"]})
    monkeypatch.setattr(updates, "run_file", lambda *_: said)
    assert main(["updates", "chain", "--repeat", "1", "--data", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert (
        "| chain of 2,000: non-linear rule beside the linear one | 1.00000 | 1.00000 | 1.0000 | ≤ 2 met |" in shown.out
    )
    assert "WRONG ANSWER: quarter: 3 rows" in shown.err


def test_work_is_the_rows_of_rules_and_the_ways_to_derive_them() -> None:
    text = (PROGRAMS / "sg_graph.dl").read_text(encoding="utf-8")
    facts = {"edge": np.array([(0, 1), (0, 2), (1, 3), (2, 3), (2, 4)])}
    # (1, 2), (2, 1), (3, 4), (4, 3), each once from a common parent; (3, 3), (3, 4) and back from (1, 2) and (2, 1).
    assert work_of(text, facts) == Work(rows=5, derivations=8)
