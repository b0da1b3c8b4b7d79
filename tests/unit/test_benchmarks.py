"""The benchmark suite measures what it says: known facts, right answers, and a loud end when they are wrong."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import duckdb_peer, runner, tidelog_side
from benchmarks.__main__ import main
from benchmarks.generators import DATA_SETS, prepare, prepare_sample
from benchmarks.measurement import Measurement
from benchmarks.runner import Failure, Result, run_apart
from benchmarks.table import main_table, order_line
from benchmarks.workloads import ALL, WORKLOADS, Workload

SMALLEST = WORKLOADS["tc_dag1k_lin"]


def test_facts_are_the_same_on_every_machine(tmp_path: Path) -> None:
    digest = hashlib.sha256((prepare("tc_dag1k", tmp_path) / "edge.facts").read_bytes()).hexdigest()
    assert digest == "39c64f565c2a0ea7bbff2c6e9c598434132d522d56053fa2cb57811a35766be4"


def test_facts_already_there_are_used_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "tc_dag1k").mkdir()
    (tmp_path / "tc_dag1k" / "edge.facts").write_text("1\t2\n")
    assert (prepare("tc_dag1k", tmp_path) / "edge.facts").read_text() == "1\t2\n"


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_both_sides_agree_on_the_sample_of_every_workload(workload: Workload, tmp_path: Path) -> None:
    sample = prepare_sample(workload.inputs, tmp_path)
    peer = duckdb_peer.run(workload, sample, threads=1).counts
    assert all(peer.values())
    assert tidelog_side.run(workload, sample, threads=1).counts == peer


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_every_workload_has_its_program_and_its_facts(workload: Workload) -> None:
    assert workload.program.exists()
    assert workload.data_set in DATA_SETS


def test_both_sides_give_the_known_answer_of_the_smallest_workload(tmp_path: Path) -> None:
    facts = prepare(SMALLEST.data_set, tmp_path)
    assert duckdb_peer.run(SMALLEST, facts, threads=1).counts == SMALLEST.counts
    assert tidelog_side.run(SMALLEST, facts, threads=1).counts == SMALLEST.counts


def test_a_run_in_a_process_of_its_own_comes_back_as_a_measurement(tmp_path: Path) -> None:
    sample = str(prepare_sample(SMALLEST.inputs, tmp_path))
    outcome = run_apart(("duckdb", SMALLEST.name, "1", sample, sample), cache=tmp_path, timeout=60)
    assert isinstance(outcome, Measurement)
    assert outcome.counts == {"path": sum(14 - node for node in range(12))}  # each reaches itself and all up to 13


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    outcome = run_apart(("duckdb", "no such workload", "1", ".", "."), cache=tmp_path, timeout=60)
    assert isinstance(outcome, Failure)
    assert outcome.reason == "failed with exit code 1: KeyError: 'no such workload'"


def test_a_wrong_answer_ends_with_a_complaint_and_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "run_apart", lambda *_, **__: replace(measured(evaluation=1.0), counts={"path": 3}))
    assert main(["tc_dag1k_lin", "--jobs", "1", "--repeat", "1", "--data", str(tmp_path)]) == 1
    assert "WRONG ANSWER: {'path': 3} rows, not {'path': 138366}" in capsys.readouterr().err


def test_right_answers_end_with_a_table_and_exit_code_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "run_apart", lambda *_, **__: measured(evaluation=1.0))
    assert main(["tc_dag1k_lin", "--jobs", "1", "--repeat", "1", "--data", str(tmp_path)]) == 0
    assert "| tc_dag1k_lin | 1 | 138,366 |" in capsys.readouterr().out


def test_a_goal_is_met_or_missed_by_the_medians_of_one_thread() -> None:
    fast, slow = measured(evaluation=1.0), measured(evaluation=9.0)
    result = result_of(replace(SMALLEST, goal=0.5), tidelog=(fast, fast, slow), duckdb=(slow, slow, fast))
    assert "| 0.11 | ≤ 0.5 met |" in main_table([result], ["duckdb"])
    result = result_of(replace(SMALLEST, goal=0.5), tidelog=(slow, slow, fast), duckdb=(fast, fast, slow))
    assert "| 9.00 | ≤ 0.5 MISSED |" in main_table([result], ["duckdb"])


def test_two_threads_are_compared_with_one() -> None:
    one = result_of(SMALLEST, tidelog=(measured(evaluation=3.0),))
    two = replace(result_of(SMALLEST, tidelog=(measured(evaluation=2.0),)), threads=2)
    assert main_table([one, two], []).splitlines()[-1].endswith("| 1.50 |")


def test_a_run_that_was_stopped_is_shown_and_complained_about() -> None:
    result = result_of(SMALLEST, tidelog=(Failure("over 5", "took over 5 s and was stopped"),))
    assert "| over 5 |" in main_table([result], [])
    assert list(result.complaints()) == ["tc_dag1k_lin, tidelog, threads 1: took over 5 s and was stopped"]


def test_the_order_of_bodies_is_judged_either_way() -> None:
    ordered = result_of(WORKLOADS["lubm_ord"], tidelog=(measured(evaluation=2.0),))
    badly = result_of(WORKLOADS["lubm"], tidelog=(measured(evaluation=1.0),))
    assert order_line([ordered, badly]).endswith("0.50, either way ≤ 1.5 MISSED")
    assert order_line([ordered]) == ""


def measured(evaluation: float) -> Measurement:
    return Measurement(0.1, 0.1, evaluation, 1_000_000, SMALLEST.counts)


def result_of(workload: Workload, **runs: tuple[Measurement | Failure, ...]) -> Result:
    return Result(workload, 1, runs["tidelog"][0], runs)


def test_memory_is_touched_and_what_it_took_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fresh-memory", "--gigabytes", "0.01"]) == 0
    heading, _, line = capsys.readouterr().out.splitlines()
    assert heading == "| GB | first ms / MB | again ms / MB |"
    assert float(line.split("|")[2]) > 0 < float(line.split("|")[3])
