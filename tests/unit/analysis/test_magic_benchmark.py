"""The benchmark of questions compares answers, and goals are met or missed by ratios."""

from __future__ import annotations

from pathlib import Path

from benchmarks.generators import prepare_sample
from benchmarks.queries import EXPERIMENTS, Experiment, Figures, complaints_of, line_of, measure


def test_every_question_is_answered_as_by_deriving_everything(tmp_path: Path) -> None:
    for experiment in EXPERIMENTS:
        prepare_sample({"edge": 2, "source": 1}, tmp_path / experiment.data_set)
        if experiment.data_set != "reach":
            (tmp_path / experiment.data_set / "source.facts").unlink()
        figures = measure(experiment, tmp_path, repeat=2)
        assert figures.wrong == (), experiment
        assert figures.question > 0


def test_goals_are_met_or_missed_by_ratios() -> None:
    experiment = Experiment("a question", "p", "d", "p({a})", goal=0.05)
    assert line_of(experiment, Figures(1.0, 0.2, 0.04, ()))[-2:] == ["0.0400", "≤ 0.05 met"]
    assert line_of(experiment, Figures(1.0, 0.2, 0.06, ()))[-1] == "≤ 0.05 MISSED"
    assert list(complaints_of(experiment, Figures(1.0, 0.2, 0.06, ("p(1)",)))) == [
        "p: WRONG ANSWER: p(1)",
        "a question: 0.0600, goal ≤ 0.05 MISSED",
    ]
