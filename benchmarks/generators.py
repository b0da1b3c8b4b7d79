"""The facts of every data set, from fixed seeds: the same rows on every machine.

The sets and their seeds are those of the project's shared workloads, so that tables can be compared; the order in
which random numbers are drawn is part of that and must not change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Facts = Mapping[str, Rows]


def prepare(name: str, data: Path) -> Path:
    """The folder with the facts of data set `name`; they are generated if it is not there yet."""
    folder = data / name
    if not folder.exists():
        partial = data / f".{name}.{os.getpid()}"
        for relation, rows in DATA_SETS[name]().items():
            write(rows, partial / f"{relation}.facts")
        partial.rename(folder)
    return folder


def prepare_sample(relations: Mapping[str, int], folder: Path) -> Path:
    """`folder` with a few facts for each relation (name: arity), such that every join has matches and recursion recurs.

    Running a workload on it first loads its kernels, so that measurements begin with both systems ready.
    """
    links = np.array([(value, value + step) for value in range(12) for step in (0, 1, 2)])
    for relation, arity in relations.items():
        write(links if arity == 2 else links[:, :1], folder / f"{relation}.facts")
    return folder


def write(rows: Rows, path: Path) -> None:
    """Writes `rows`, sorted and without duplicates, tab separated."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ("\t".join(map(str, row)) for row in np.unique(rows, axis=0).tolist())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def tc_dag10k() -> Facts:
    """A random acyclic graph of 10,000 nodes and 100,000 edges ("DAG-R")."""
    return {"edge": upward_pairs(default_rng(101), nodes=10_000, count=100_000)}


def tc_dag1k() -> Facts:
    return {"edge": upward_pairs(default_rng(102), nodes=1_000, count=5_000)}


def tc_chain2k() -> Facts:
    nodes = np.arange(2_000)
    return {"edge": np.column_stack([nodes[:-1], nodes[1:]])}


def sg_tree() -> Facts:
    """A random tree of 12 levels whose nodes have one to three children."""
    random = default_rng(107)
    edges: list[tuple[int, int]] = []
    level = [0]
    for _ in range(11):
        children = []
        for parent in level:
            for _ in range(int(random.integers(1, 4))):
                child = len(edges) + 1
                edges.append((parent, child))
                children.append(child)
        level = children
    return {"edge": np.array(edges)}


def sg_graph() -> Facts:
    """A random graph with cycles, where each pair is derived many times over."""
    return {"edge": pairs(default_rng(104), nodes=1_200, count=4_800)}


def cc_small() -> Facts:
    return {"edge": components(default_rng(105), sizes=(200, 300, 400))}


def cc_large() -> Facts:
    return {"edge": components(default_rng(106), sizes=(200, 400, 600, 800, 1_000))}


def andersen() -> Facts:
    """A program of 2,500 functions with 40 variables each; values flow upward inside one and onward between them."""
    random, functions, variables = default_rng(107), 2_500, 40
    address_of = within_functions(random, functions, variables, 60_000)
    inside = descending(within_functions(random, functions, variables, 70_000))
    between = between_functions(random, functions, variables, 4_000, reach=30)
    load = descending(within_functions(random, functions, variables, 8_000))
    store = within_functions(random, functions, variables, 4_000)
    return {"addressOf": address_of, "assign": np.vstack([inside, between]), "load": load, "store": store}


def cspa() -> Facts:
    random, functions, variables = default_rng(108), 700, 30
    inside = descending(within_functions(random, functions, variables, 16_000))
    between = between_functions(random, functions, variables, 800, reach=20)
    dereference = within_functions(random, functions, variables, 5_000)
    return {"assign": np.vstack([inside, between]), "dereference": dereference}


def reach() -> Facts:
    """A random graph of 500,000 nodes and one million edges, and the first node that has an edge."""
    edges = pairs(default_rng(109), nodes=500_000, count=1_000_000)
    return {"edge": edges, "source": np.array([[edges[:, 0].min()]])}


def rules() -> Facts:
    """Four relations of 100,000 pairs over 500,000 values; half of `use` is drawn from `near`."""
    random, values, count = default_rng(110), 500_000, 100_000
    near = pairs(random, values, count)
    request = pairs(random, values, count)
    use_lit = pairs(random, values, count)
    use = np.vstack([near[: count // 2], pairs(random, values, count // 2)])
    return {"near": near, "request": request, "use_lit": use_lit, "use": use}


def lubm() -> Facts:
    """Twenty universities with departments, research groups, professors, courses and students."""
    random, universities = default_rng(112), 20
    facts: dict[str, list[tuple[int, ...]]] = {relation: [] for relation in LUBM_RELATIONS}
    last = universities

    def new() -> int:
        nonlocal last
        last += 1
        return last

    def degree(person: int) -> None:
        facts["degreeFrom"].append((person, int(random.integers(0, universities))))

    def professors_of(department: int) -> list[int]:
        professors = []
        for rank, fewest, most in (("fullProf", 7, 10), ("assocProf", 10, 14), ("assistProf", 8, 11)):
            for _ in range(int(random.integers(fewest, most + 1))):
                professor = new()
                professors.append(professor)
                facts[rank].append((professor,))
                facts["worksFor"].append((professor, department))
                degree(professor)
        return professors

    def student_of(department: int, courses: list[int]) -> int:
        student = new()
        facts["memberOf"].append((student, department))
        for course in random.choice(len(courses), 3, replace=False):
            facts["takesCourse"].append((student, courses[course]))
        return student

    for university in range(universities):
        for _ in range(int(random.integers(15, 25))):
            department = new()
            facts["subOrganizationOf"].append((department, university))
            facts["subOrganizationOf"] += [(new(), department) for _ in range(int(random.integers(10, 20)))]
            professors = professors_of(department)
            facts["headOf"].append((professors[0], department))
            taught = [(professor, new()) for professor in professors for _ in range(2)]
            facts["teacherOf"] += taught
            courses = [course for _, course in taught]
            for _ in range(3 * len(professors)):
                graduate = student_of(department, courses)
                facts["gradStudent"].append((graduate,))
                facts["advisor"].append((graduate, professors[int(random.integers(0, len(professors)))]))
                degree(graduate)
            facts["undergrad"] += [(student_of(department, courses),) for _ in range(10 * len(professors))]
    return {relation: np.array(rows) for relation, rows in facts.items()}


def ten_rules() -> Facts:
    """A million facts about people, whom they follow and block, what they like, and topics under wider topics."""
    random, people, items, topics = default_rng(113), 100_000, 40_000, 1_000
    follows = pairs(random, people, 350_000)
    answered = follows[:60_000, ::-1]
    return {
        "lives": np.column_stack([np.arange(people), random.integers(0, 300, people)]),
        "follows": np.unique(np.vstack([follows, answered]), axis=0)[:400_000],
        "likes": np.unique(random.integers(0, (people, items), (452_000, 2)), axis=0)[:450_000],
        "kind": np.column_stack([np.arange(items), random.integers(0, topics, items)]),
        "under": np.array([(topic, int(random.integers(0, topic))) for topic in range(1, topics)]),
        "blocked": pairs(random, people, 1_000_000 - people - 850_000 - items - topics + 1),
    }


LUBM_RELATIONS = (
    *("subOrganizationOf", "memberOf", "worksFor", "headOf", "takesCourse", "teacherOf", "advisor"),
    *("gradStudent", "undergrad", "fullProf", "assocProf", "assistProf", "degreeFrom"),
)

DATA_SETS: Mapping[str, Callable[[], Facts]] = {
    generate.__name__: generate
    for generate in (
        *(tc_dag1k, tc_chain2k, tc_dag10k, sg_tree, sg_graph, cc_small, cc_large),
        *(andersen, cspa, reach, rules, lubm, ten_rules),
    )
}


def pairs(random: Generator, nodes: int, count: int) -> Rows:
    """`count` different pairs of two different nodes."""
    return different_pairs(random, nodes, count, arrange=lambda drawn: drawn)


def upward_pairs(random: Generator, nodes: int, count: int) -> Rows:
    """`count` different pairs of nodes, the smaller first: the edges of a graph without cycles."""
    return different_pairs(random, nodes, count, arrange=lambda drawn: np.sort(drawn, axis=1))


def different_pairs(random: Generator, nodes: int, count: int, arrange: Callable[[Rows], Rows]) -> Rows:
    found = np.empty((0, 2), np.int64)
    while len(found) < count:
        drawn = random.integers(0, nodes, (2 * count, 2))
        found = np.unique(np.vstack([found, arrange(drawn[drawn[:, 0] != drawn[:, 1]])]), axis=0)
    return found[random.permutation(len(found))[:count]]


def components(random: Generator, sizes: tuple[int, ...]) -> Rows:
    """Edges of connected graphs of these sizes, each a random tree with half as many edges again as nodes."""
    edges: list[tuple[int, int]] = []
    first = 0
    for size in sizes:
        nodes = random.permutation(size) + first
        edges += [(nodes[at], nodes[int(random.integers(0, at))]) for at in range(1, size)]
        for _ in range(size // 2):
            left, right = random.integers(0, size, 2) + first
            if left != right:
                edges.append((left, right))
        first += size
    return np.array(edges)


def within_functions(random: Generator, functions: int, variables: int, count: int) -> Rows:
    """`count` pairs of variables, both of the same function."""
    base = random.integers(0, functions, count) * variables
    return np.column_stack([base + random.integers(0, variables, count), base + random.integers(0, variables, count)])


def between_functions(random: Generator, functions: int, variables: int, count: int, reach: int) -> Rows:
    """`count` pairs of a low variable (a parameter) and a high one of a function up to `reach` before it."""
    caller = random.integers(0, functions, count) * variables
    callee = np.minimum(caller + random.integers(1, reach, count) * variables, (functions - 1) * variables)
    parameter = callee + random.integers(0, variables // 4, count)
    return np.column_stack([parameter, caller + random.integers(3 * variables // 4, variables, count)])


def descending(rows: Rows) -> Rows:
    """`rows` with the larger value of each pair first."""
    return np.column_stack([rows.max(axis=1), rows.min(axis=1)])
