"""`python -m benchmarks updates`: what changes cost beside starting over, with their goals and the paper's tables."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.generators import prepare
from benchmarks.names import one_of, positive
from benchmarks.paper_tables import paper_tables
from benchmarks.runner import Failure, run_file
from benchmarks.table import markdown
from benchmarks.update_measure import QUARTER, Figures
from benchmarks.workloads import DEFAULT_DATA, PROGRAMS

NAME = "updates"
SINGLE, THOUSAND, EDGE = "single:200", "some:1000", "single:50"
ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Request:
    """What one process measures: a program on a data set, with modules or by plain semi-naive rounds."""

    program: str
    data_set: str
    tasks: tuple[str, ...] = ()
    modules: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: seconds, what they are compared with, and the goal for the comparison."""

    name: str
    seconds: float | None
    compared: float | None
    comparison: str
    goal: str
    met: bool | None


Outcome = Figures | Failure
Measure = Callable[[Request], Outcome]


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 when a run failed, gave wrong rows, or a goal was missed."""
    options = read_options(arguments)
    complaints: list[str] = []
    outcomes: dict[Request, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="tidelog-updates-") as scratch:

        def measure(request: Request) -> Outcome:
            if request not in outcomes:
                outcomes[request] = repeated(request, options, Path(scratch))
                complaints.extend(complaints_of(request, outcomes[request]))
            return outcomes[request]

        lines = [line for name in options.names or EXPERIMENTS for line in EXPERIMENTS[name](measure)]
    print(f"medians of {options.repeat}, warm kernels, each run in a process of its own\n")
    print(updates_table(lines), end="\n\n")
    print(paper_tables(outcomes))
    complaints += [f"{line.name}: {line.comparison}, goal {line.goal} MISSED" for line in lines if line.met is False]
    for complaint in complaints:
        print(f"*** {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {NAME}", description="Measures changes.")
    parser.add_argument("names", nargs="*", type=one_of(EXPERIMENTS), metavar="name", help=", ".join(EXPERIMENTS))
    parser.add_argument("--repeat", type=positive, default=3, help="runs of each, of which the median counts")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="where the facts are kept or generated")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that one run may take")
    return parser.parse_args(arguments)


def repeated(request: Request, options: argparse.Namespace, scratch: Path) -> Outcome:
    """The medians of some runs after one that compiles kernels; where that took longer than a minute it is enough."""
    folder = prepare(request.data_set, options.data).resolve()
    program = PROGRAMS / f"{request.program}.dl"
    arguments = (str(program), str(folder), "modules" if request.modules else "plain", *request.tasks)
    found: list[Figures] = []
    for number in range(1 + options.repeat):
        said = run_file("benchmarks.update_measure", arguments, scratch / "kernels", options.timeout)
        if isinstance(said, Failure):
            print(f"{request.program}  {arguments[2]}  {said.reason}", file=sys.stderr)
            return said
        figures = Figures(**json.loads(said))
        print(f"{request.program}  {arguments[2]}  from nothing {figures.from_nothing:.4f} s", file=sys.stderr)
        if number or figures.from_nothing > 60:
            found.append(figures)
        if figures.from_nothing > 60:
            break
    seconds = {task: median(figures.seconds[task] for figures in found) for task in found[0].seconds}
    wrong = tuple(dict.fromkeys(what for figures in found for what in figures.wrong))
    return Figures(median(figures.from_nothing for figures in found), seconds, wrong)


def complaints_of(request: Request, outcome: Outcome) -> Iterator[str]:
    match outcome:
        case Failure(reason=reason):
            yield f"{request.program}, modules {request.modules}: {reason}"
        case Figures(wrong=wrong):
            yield from (f"{request.program}, modules {request.modules}: WRONG ANSWER: {what}" for what in wrong)


def dag(measure: Measure) -> Iterator[Line]:
    """DAG-R by the paper's rule, which composes paths with paths; a small graph shows both sides fast."""
    for data_set in ("tc_dag1k", "tc_dag10k"):
        modules = measure(Request(f"{data_set}_nl", data_set, (THOUSAND, QUARTER)))
        plain = measure(Request(f"{data_set}_nl", data_set, modules=False))
        name = "DAG-R" if data_set == "tc_dag10k" else "DAG of 1,000 nodes, 5,000 edges"
        yield times_faster(f"{name}: Mat-Mod", modules, plain, goal=100 if data_set == "tc_dag10k" else None)
        yield of_from_nothing(f"{name}: 1,000 edges deleted", modules, f"delete {THOUSAND}", goal=0.5)
        yield of_from_nothing(f"{name}: 1,000 edges inserted again", modules, f"insert {THOUSAND}", goal=0.5)
        yield of_from_nothing(f"{name}: 25 % of the edges deleted", modules, f"delete {QUARTER}", goal=1.2)


def cliques(measure: Measure) -> Iterator[Line]:
    """Symmetric-transitive closures. Without modules the larger one may be stopped: then its ratio is a lower bound."""
    for data_set, sizes in (("cc_small", "200 to 400"), ("cc_large", "200 to 1,000")):
        modules = measure(Request(data_set, data_set, (EDGE, THOUSAND, QUARTER)))
        plain = measure(Request(data_set, data_set, modules=False))
        yield times_faster(f"cliques of {sizes}: Mat-Mod", modules, plain, goal=100)
        yield of_from_nothing(f"cliques of {sizes}: one edge deleted", modules, f"delete {EDGE}", goal=None)
        yield of_from_nothing(f"cliques of {sizes}: one edge inserted again", modules, f"insert {EDGE}", goal=None)


def chain(measure: Measure) -> Iterator[Line]:
    """The rule that composes paths beside the one that extends them by an edge."""
    linear = measure(Request("tc_chain2k_lin", "tc_chain2k"))
    composed = measure(Request("tc_chain2k_nl", "tc_chain2k"))
    base = linear.from_nothing if isinstance(linear, Figures) else None
    yield compare("chain of 2,000: non-linear rule beside the linear one", composed, None, base, goal=2)


def changes(name: str) -> Callable[[Measure], Iterator[Line]]:
    """The lines of a workload: one fact, a thousand, a quarter, deleted and inserted again."""

    def lines(measure: Measure) -> Iterator[Line]:
        outcome = measure(Request(name, name, (SINGLE, THOUSAND, QUARTER)))
        for task, said, goal in (
            (SINGLE, "one fact", 1 / 100),
            (THOUSAND, "1,000 facts", 1 / 4),
            (QUARTER, "25 % of the facts", 1.2),
        ):
            yield of_from_nothing(f"{name}: {said} deleted", outcome, f"delete {task}", goal)
            yield of_from_nothing(f"{name}: {said} inserted again", outcome, f"insert {task}", goal)

    return lines


def lubm(measure: Measure) -> Iterator[Line]:
    """As any workload, and without modules too: the paper has a like benchmark."""
    yield from changes("lubm")(measure)
    with_modules = measure(Request("lubm", "lubm", (SINGLE, THOUSAND, QUARTER)))
    yield times_faster(
        "lubm: Mat-Mod", with_modules, measure(Request("lubm", "lubm", (THOUSAND, QUARTER), modules=False)), goal=None
    )


def ten_rules(measure: Measure) -> Iterator[Line]:
    """Single facts of a program of ten rules with a million facts, in absolute time."""
    outcome = measure(Request("ten_rules", "ten_rules", (SINGLE,)))
    for word in ("delete", "insert"):
        seconds = seconds_of(outcome, f"{word} {SINGLE}")
        comparison = ABSENT if seconds is None else f"{seconds * 1000:.2f} ms"
        met = None if seconds is None else seconds < 0.002
        yield Line(f"ten rules, a million facts: {word} one", seconds, None, comparison, "< 2 ms", met)


EXPERIMENTS: Mapping[str, Callable[[Measure], Iterator[Line]]] = {
    "dag": dag,
    "cliques": cliques,
    "chain": chain,
    **{name: changes(name) for name in ("andersen", "cspa", "sg_graph")},
    "lubm": lubm,
    "ten_rules": ten_rules,
}


def times_faster(name: str, modules: Outcome, plain: Outcome, goal: float | None) -> Line:
    """How many times faster than plain semi-naive rounds modules are; a run that was stopped gives a lower bound."""
    ours, other = seconds_of(modules), seconds_of(plain)
    at_least = ""
    if isinstance(plain, Failure) and plain.short.startswith("over "):
        other, at_least = float(plain.short.split()[1]), "over "
    if ours is None or other is None:
        return Line(name, ours, other, ABSENT, f"≥ {goal:g} ×" if goal else "", None)
    ratio = other / ours
    met = None if goal is None or (at_least and ratio < goal) else ratio >= goal
    return Line(name, ours, other, f"{at_least}{ratio:,.0f} × faster", f"≥ {goal:g} ×" if goal else "", met)


def of_from_nothing(name: str, outcome: Outcome, task: str, goal: float | None) -> Line:
    """What a task took as a part of materialising from nothing in the same process."""
    return compare(name, outcome, task, seconds_of(outcome), goal)


def compare(name: str, outcome: Outcome, task: str | None, base: float | None, goal: float | None) -> Line:
    seconds = seconds_of(outcome, task)
    shown = "" if goal is None else f"≤ {goal:g}"
    if seconds is None or base is None:
        return Line(name, seconds, base, ABSENT, shown, None)
    ratio = seconds / base
    return Line(name, seconds, base, f"{ratio:.4f}", shown, None if goal is None else ratio <= goal)


def seconds_of(outcome: Outcome, task: str | None = None) -> float | None:
    """The seconds of a task, or from nothing; None when there was no measurement."""
    if isinstance(outcome, Failure):
        return None
    return outcome.from_nothing if task is None else outcome.seconds[task]


def updates_table(lines: Sequence[Line]) -> str:
    """Every line with its seconds, those it is compared with, the ratio, and whether the goal is met."""
    header = ["what", "seconds", "compared with", "ratio", "goal"]
    return markdown(header, [[line.name, *map(shown, (line.seconds, line.compared)), *verdict(line)] for line in lines])


def verdict(line: Line) -> tuple[str, str]:
    words = {True: "met", False: "MISSED", None: ""}
    return line.comparison, f"{line.goal} {words[line.met]}".strip()


def shown(seconds: float | None) -> str:
    return ABSENT if seconds is None else f"{seconds:.5f}"
