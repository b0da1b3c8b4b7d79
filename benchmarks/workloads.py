"""Every workload as data: its rules, its facts, the answer's size, the peer's form, and the goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import sql_forms
from benchmarks.sql_forms import Form

PROGRAMS = Path(__file__).parent / "programs"
DEFAULT_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Workload:
    """One line of the table. `inputs` has the arity of each relation read, `counts` the rows of each relation checked.

    `goal` is the most that Tidelog's evaluation may take as a multiple of DuckDB's, both with one thread.
    `megabytes` is the most memory it may take: three times what Soufflé's compiled program used.
    A workload `on_request` takes minutes and runs only when it is named.
    """

    name: str
    data_set: str
    inputs: Mapping[str, int]
    counts: Mapping[str, int]
    duckdb: Form
    goal: float | None = None
    megabytes: int | None = None
    on_request: bool = False

    @property
    def program(self) -> Path:
        return PROGRAMS / f"{self.name}.dl"


EDGE = {"edge": 2}
LUBM_INPUTS = {
    **dict.fromkeys(("subOrganizationOf", "memberOf", "worksFor", "headOf", "degreeFrom"), 2),
    **dict.fromkeys(("takesCourse", "teacherOf", "advisor"), 2),
    **dict.fromkeys(("gradStudent", "undergrad", "fullProf", "assocProf", "assistProf"), 1),
}
LUBM_COUNTS = {"member": 339_892, "person": 169_946, "qnine": 3_630, "qtwo": 1_794}

ALL = (
    Workload("tc_dag1k_lin", "tc_dag1k", EDGE, {"path": 138_366}, sql_forms.TRANSITIVE_CLOSURE),
    Workload("tc_dag1k_nl", "tc_dag1k", EDGE, {"path": 138_366}, sql_forms.TRANSITIVE_CLOSURE_BY_ITSELF),
    Workload("tc_chain2k_lin", "tc_chain2k", EDGE, {"path": 1_999_000}, sql_forms.TRANSITIVE_CLOSURE),
    Workload(
        "tc_chain2k_nl",
        "tc_chain2k",
        EDGE,
        {"path": 1_999_000},
        sql_forms.TRANSITIVE_CLOSURE_BY_ITSELF,
        on_request=True,
    ),
    Workload(
        "tc_dag10k_lin",
        "tc_dag10k",
        EDGE,
        {"path": 22_425_649},
        sql_forms.TRANSITIVE_CLOSURE,
        goal=0.8,
        megabytes=3 * 361,
    ),
    Workload(
        "tc_dag10k_nl",
        "tc_dag10k",
        EDGE,
        {"path": 22_425_649},
        sql_forms.TRANSITIVE_CLOSURE_BY_ITSELF,
        on_request=True,
    ),
    Workload("sg_tree", "sg_tree", EDGE, {"sg": 1_952_610}, sql_forms.SAME_GENERATION, goal=1.0, megabytes=3 * 39),
    Workload("sg_graph", "sg_graph", EDGE, {"sg": 1_390_131}, sql_forms.SAME_GENERATION, goal=0.8),
    Workload("cc_small", "cc_small", EDGE, {"r": 290_000}, sql_forms.CONNECTED),
    Workload("cc_large", "cc_large", EDGE, {"r": 2_200_000}, sql_forms.CONNECTED, on_request=True),
    Workload(
        "andersen",
        "andersen",
        {"addressOf": 2, "assign": 2, "load": 2, "store": 2},
        {"pts": 1_444_248},
        sql_forms.ANDERSEN,
        goal=0.6,
        megabytes=3 * 26,
    ),
    Workload(
        "cspa",
        "cspa",
        {"assign": 2, "dereference": 2},
        {"vflow": 230_486, "malias": 68_762, "valias": 850_490},
        sql_forms.CSPA,
        goal=0.8,
        megabytes=3 * 20,
    ),
    Workload("reach", "reach", {"edge": 2, "source": 1}, {"reach": 398_474}, sql_forms.REACH, goal=1.0),
    Workload("uc", "rules", {"near": 2, "use": 2, "request": 2}, {"canuse": 9_965}, sql_forms.CAN_USE),
    Workload("lubm_ord", "lubm", LUBM_INPUTS, LUBM_COUNTS, sql_forms.LUBM, goal=1.0, megabytes=3 * 20),
    Workload("lubm", "lubm", LUBM_INPUTS, LUBM_COUNTS, sql_forms.LUBM, goal=1.0, megabytes=3 * 20),
)

WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in ALL}

ORDER_GOAL = 1.5
"""How much longer lubm, whose bodies are badly ordered, may take than lubm_ord, and the other way round."""
