"""Tables 1 and 2 of the paper on modular materialisation, beside the same ratios of ours.

The paper: Hu, Motik, Horrocks, "Modular Materialisation of Datalog Programs" (2019); seconds on a server with two
8-core processors. Machines differ, so ratios are what can be compared: to plain semi-naive rounds and to starting over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.runner import Failure
from benchmarks.table import markdown
from benchmarks.update_measure import QUARTER, Figures

if TYPE_CHECKING:
    from benchmarks.updates import Request

Outcomes = Mapping["Request", Figures | Failure]
ABSENT = "–"
THOUSAND = "some:1000"


@dataclass(frozen=True, slots=True)
class Reported:
    """What the paper says of a benchmark, in seconds, and the workload of ours that is the same or like it."""

    name: str
    explicit: str
    derived: str
    mat_mod: float
    mat: float
    deletion: tuple[float, float]
    insertion: tuple[float, float]
    large_deletion: tuple[float, float]
    ours: str | None = None


REPORTED = (
    Reported(
        "Claros-LE", "18.8 M", "533.3 M", 733.55, 3593.32, (0.93, 1035.28), (0.17, 0.80), (314.33, 3616.93), "cc_large"
    ),
    Reported("LUBM-LE", "133.6 M", "332.6 M", 291.90, 1100.22, (0.32, 3.87), (0.01, 0.01), (182.93, 1369.77), "lubm"),
    Reported("DBpedia-SKOS", "5.0 M", "97.0 M", 103.23, 3623.37, (21.77, 691.32), (0.20, 2.78), (111.28, 3826.87)),
    Reported(
        "DAG-R", "0.1 M", "22.9 M", 29.60, 3238.86, (64.92, 3005.11), (14.56, 116.78), (62.48, 4316.71), "tc_dag10k_nl"
    ),
)
"""Pairs are DRed^c-Mod and DRed^c: small (1,000 facts) and large (25 %) deletions, small insertions.

Like ours: cc_large has the cliques of a symmetric-transitive relation that make Claros-LE hard; lubm has other rules
than LUBM-LE and is smaller. DAG-R is the same but for the random numbers.
"""


def paper_tables(outcomes: Outcomes) -> str:
    """Both tables: the paper's seconds and ratios, and our ratios where we measured the same or the like."""
    return "\n\n".join(["Table 1, from nothing", table_one(outcomes), "Table 2, changes", table_two(outcomes)])


def table_one(outcomes: Outcomes) -> str:
    header = ["paper", "E", "I", "Mat-Mod s", "Mat s", "Mat / Mat-Mod", "ours", "Mat-Mod s", "Mat s", "Mat / Mat-Mod"]
    rows = []
    for row in REPORTED:
        modules, plain = measured(outcomes, row.ours, modules=True), measured(outcomes, row.ours, modules=False)
        times = [from_nothing(modules), from_nothing(plain)]
        reported = [row.name, row.explicit, row.derived, f"{row.mat_mod:.2f}", f"{row.mat:.2f}"]
        ours = [row.ours or ABSENT, *map(seconds, times), ratio(times[1], times[0])]
        rows.append([*reported, f"{row.mat / row.mat_mod:.1f}", *ours])
    return markdown(header, rows)


def table_two(outcomes: Outcomes) -> str:
    """Seconds of DRed^c-Mod and of DRed^c, and DRed^c-Mod as a part of Mat-Mod from nothing, the paper's and ours."""
    header = ["paper", "change", "DRed^c-Mod s", "DRed^c s", "of Mat-Mod"]
    header += ["ours", "with modules s", "without s", "of Mat-Mod"]
    rows = []
    for row in REPORTED:
        modules, plain = measured(outcomes, row.ours, modules=True), measured(outcomes, row.ours, modules=False)
        for change, (with_modules, without), task in (
            ("1,000 deleted", row.deletion, f"delete {THOUSAND}"),
            ("1,000 inserted", row.insertion, f"insert {THOUSAND}"),
            ("25 % deleted", row.large_deletion, f"delete {QUARTER}"),
        ):
            own, other = task_seconds(modules, task), task_seconds(plain, task)
            reported = [f"{with_modules:.2f}", f"{without:.2f}", f"{with_modules / row.mat_mod:.4f}"]
            ours = [row.ours or ABSENT, seconds(own), seconds(other), ratio(own, from_nothing(modules))]
            rows.append([row.name, change, *reported, *ours])
    return markdown(header, rows)


def measured(outcomes: Outcomes, program: str | None, *, modules: bool) -> Figures | None:
    """What was measured of `program`, or None."""
    for request, outcome in outcomes.items():
        if request.program == program and request.modules is modules and isinstance(outcome, Figures):
            return outcome
    return None


def from_nothing(figures: Figures | None) -> float | None:
    return None if figures is None else figures.from_nothing


def task_seconds(figures: Figures | None, task: str) -> float | None:
    return None if figures is None else figures.seconds.get(task)


def seconds(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"


def ratio(one: float | None, other: float | None) -> str:
    return ABSENT if one is None or other is None else f"{one / other:.4f}" if one < other else f"{one / other:,.1f}"
