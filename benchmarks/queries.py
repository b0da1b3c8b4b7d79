"""`python -m benchmarks queries`: what a question with constants costs beside deriving everything, with its goals."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from numpy.random import default_rng

import tidelog
from benchmarks.generators import Rows, prepare
from benchmarks.measurement import Clock
from benchmarks.names import positive
from benchmarks.table import markdown
from benchmarks.workloads import DEFAULT_DATA, PROGRAMS
from tidelog.kernels.jit import use_compiled
from tidelog.session import Session

NAME = "queries"
ASKED = 20
"""Questions of each kind, with other constants; the median counts."""

GOAL = 1 / 20
SEED = 7


@dataclass(frozen=True, slots=True)
class Experiment:
    """A form of question: `{a}` and `{b}` stand for random nodes. `goal` is the most of deriving everything."""

    name: str
    program: str
    data_set: str
    question: str
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds to derive everything, of the first question (which builds indexes) and of the median one."""

    everything: float
    first: float
    question: float
    wrong: tuple[str, ...]

    @property
    def ratio(self) -> float:
        return self.question / self.everything


EXPERIMENTS = (
    Experiment("is a node reached", "reach", "reach", "reach({a})", GOAL),
    Experiment("same generation in a tree, of one node", "sg_tree", "sg_tree", "sg({a}, Y)", GOAL),
    Experiment("same generation in a tree, of two nodes", "sg_tree", "sg_tree", "sg({a}, {b})"),
    Experiment("paths from a node beside a closure of all", "tc_dag10k_nl", "tc_dag10k", "path({a}, X)"),
    Experiment("same generation with cycles, of two nodes", "sg_graph", "sg_graph", "sg({a}, {b})", GOAL),
    Experiment("same generation with cycles, of one node", "sg_graph", "sg_graph", "sg({a}, Y)"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when an answer was wrong or a goal was missed."""
    options = read_options(arguments)
    use_compiled()
    complaints: list[str] = []
    lines = []
    for experiment in EXPERIMENTS:
        figures = measure(experiment, options.data, options.repeat)
        lines.append(line_of(experiment, figures))
        complaints += complaints_of(experiment, figures)
    print(f"medians of {ASKED} questions and of {options.repeat} runs that derive everything, warm kernels, seconds\n")
    print(markdown(["question", "first", "median", "everything", "ratio", "goal"], lines))
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures questions.")
    parser.add_argument("--repeat", type=positive, default=5, help="runs that derive everything; the median counts")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    return parser.parse_args(arguments)


def measure(experiment: Experiment, data: Path, repeat: int) -> Figures:
    """The figures of one form of question. Both sides take turns, so that a busy spell of the machine hits both."""
    folder = prepare(experiment.data_set, data)
    facts = {path.stem: np.loadtxt(path, dtype=np.int64, ndmin=2) for path in sorted(folder.glob("*.facts"))}
    checked = tidelog.check(tidelog.parse((PROGRAMS / f"{experiment.program}.dl").read_text(encoding="utf-8")))
    derive_everything(checked, facts).close()
    texts = list(questions(experiment, facts))
    everything: list[float] = []
    asked: list[float] = []
    wrong: list[str] = []
    with opened(checked, facts) as asking:
        for turn in range(repeat):
            session = opened(checked, facts)
            clock = Clock()
            session.materialize()
            everything.append(clock.lap())
            found = {}
            for text in texts[turn::repeat]:
                found[text] = asking.query(text)
                asked.append(clock.lap())
            wrong += [text for text, rows in found.items() if sorted(rows) != sorted(session.query(text))]
            session.close()
    return Figures(median(everything), asked[0], median(asked), tuple(wrong))


def derive_everything(checked: tidelog.CheckedProgram, facts: Mapping[str, Rows]) -> Session:
    session = opened(checked, facts)
    session.materialize()
    return session


def opened(checked: tidelog.CheckedProgram, facts: Mapping[str, Rows]) -> Session:
    """A session with `facts`, nothing derived yet."""
    session = tidelog.open(checked)
    for relation, rows in facts.items():
        names = session.schemas[relation].names
        session.insert(relation, pa.table({name: rows[:, column] for column, name in enumerate(names)}))
    return session


def questions(experiment: Experiment, facts: Mapping[str, Rows]) -> Iterator[str]:
    """The question with random nodes of the graph, the same on every machine."""
    random = default_rng(SEED)
    nodes = np.unique(facts["edge"])
    for _ in range(ASKED):
        one, other = random.choice(nodes, 2)
        yield experiment.question.format(a=one, b=other)


def line_of(experiment: Experiment, figures: Figures) -> list[str]:
    goal = "" if experiment.goal is None else f"≤ {experiment.goal:g} {verdict(experiment.goal, figures)}"
    seconds = (f"{each:.5f}" for each in (figures.first, figures.question, figures.everything))
    return [f"{experiment.name}: `{experiment.question}`", *seconds, f"{figures.ratio:.4f}", goal]


def verdict(goal: float, figures: Figures) -> str:
    return "met" if figures.ratio <= goal else "MISSED"


def complaints_of(experiment: Experiment, figures: Figures) -> Iterator[str]:
    yield from (f"{experiment.program}: WRONG ANSWER: {text}" for text in figures.wrong)
    if experiment.goal is not None and figures.ratio > experiment.goal:
        yield f"{experiment.name}: {figures.ratio:.4f}, goal ≤ {experiment.goal:g} MISSED"


if __name__ == "__main__":
    sys.exit(main())
