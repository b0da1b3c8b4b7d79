"""One measurement of changes: a program, its facts, modules or none, in a process of its own.

`python -m benchmarks.update_measure PROGRAM FACTS MODULES TASK…` prints seconds by task as JSON. A task is `single:200`
(one random fact deleted and inserted again, 200 times), `some:1000` (that many at once) or `quarter`, both five times
with other facts. After each task the sizes of all relations are compared with those of a session that starts from the
facts there are then.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator, default_rng

import tidelog
from benchmarks.generators import Rows, prepare_sample
from benchmarks.measurement import Clock
from tidelog.kernels.jit import use_compiled
from tidelog.maintain.protocol import Maintenance
from tidelog.session import Session

SINGLE, SOME, QUARTER = "single", "some", "quarter"
REPEATED = 5
"""How often many facts are deleted and inserted again; the median counts."""

Facts = Mapping[str, Rows]


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds from nothing, seconds of each task (`delete single:200`, `insert single:200`), and what went wrong."""

    from_nothing: float
    seconds: Mapping[str, float] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()


def measure(program: Path, folder: Path, modules: bool, tasks: tuple[str, ...]) -> Figures:
    """The figures of one run, once kernels are loaded by a run on a small sample, and by changes of stored pairs: a
    few facts are kept in other forms than many."""
    use_compiled()
    for highest in (1_000, 10_000):
        change_pairs(highest)
    checked = tidelog.check(tidelog.parse(program.read_text(encoding="utf-8")))
    arities = {path.stem: checked.schemas[path.stem].arity for path in sorted(folder.glob("*.facts"))}
    sample = folder.parent / ".samples" / program.stem
    warm = [f"{SINGLE}:3" if task.startswith(SINGLE) else QUARTER for task in tasks]
    run(checked, prepare_sample(arities, sample), modules, tuple(warm))
    return run(checked, folder, modules, tasks)


def change_pairs(highest: int) -> None:
    """Deletes and inserts pairs of numbers up to `highest` that no rule reads, until the dead ones are cleared away."""
    pairs = np.unique(default_rng(1).integers(0, highest, (5 * highest, 2)), axis=0)
    checked = tidelog.check(tidelog.parse(".decl pair(x: number, y: number)\n.input pair\n"))
    with opened(checked, {"pair": pairs}, modules=True) as session:
        session.materialize()
        for many in (len(pairs) // 5, len(pairs) // 4):
            for _ in range(REPEATED):
                timed(session, chosen({"pair": pairs}, many, default_rng(many)))


def run(checked: tidelog.CheckedProgram, folder: Path, modules: bool, tasks: tuple[str, ...]) -> Figures:
    facts = {path.stem: np.loadtxt(path, dtype=np.int64, ndmin=2) for path in sorted(folder.glob("*.facts"))}
    seconds: dict[str, float] = {}
    wrong: list[str] = []
    with opened(checked, facts, modules) as session:
        clock = Clock()
        session.materialize()
        from_nothing = clock.lap()
        at_first = sizes(session)
        for task in tasks:
            random = default_rng(7)
            pairs = [timed(session, picked) for picked in choices(task, facts, random)]
            seconds[f"delete {task}"] = median(delete for delete, _ in pairs)
            seconds[f"insert {task}"] = median(insert for _, insert in pairs)
            if sizes(session) != at_first:
                wrong.append(f"{task}: {sizes(session)} rows after all came back, not {at_first}")
        wrong += differences(session, checked, facts, modules, tasks)
    return Figures(from_nothing, seconds, tuple(wrong))


def opened(checked: tidelog.CheckedProgram, facts: Facts, modules: bool) -> Session:
    """A session with `facts`, nothing derived yet."""
    options: dict[str, Any] = {}
    if not modules:
        options["maintenance"] = Maintenance(modules=False)
    session = tidelog.open(checked, **options)
    for relation, rows in facts.items():
        session.insert(relation, as_table(rows, session, relation))
    return session


def as_table(rows: Rows, session: Session, relation: str) -> object:
    """`rows` as an Arrow table: what a program that keeps many facts would hand over."""
    names = [attribute.name for attribute in session.schemas[relation].attributes]
    return pa.table({name: rows[:, position] for position, name in enumerate(names)})


def choices(task: str, facts: Facts, random: Generator) -> Iterator[dict[str, Rows]]:
    """The facts that a task deletes and inserts again, once for each time that it is done."""
    kind, _, number = task.partition(":")
    if kind == SINGLE:
        for _ in range(int(number)):
            yield chosen(facts, 1, random)
    else:
        total = sum(map(len, facts.values()))
        for _ in range(REPEATED):
            yield chosen(facts, total // 4 if kind == QUARTER else min(int(number), total // 2), random)


def chosen(facts: Facts, count: int, random: Generator) -> dict[str, Rows]:
    """`count` facts, each as likely as any other."""
    picked = np.sort(random.choice(sum(map(len, facts.values())), count, replace=False))
    found = {}
    for relation, rows in facts.items():
        inside = picked[(picked >= 0) & (picked < len(rows))]
        if len(inside):
            found[relation] = rows[inside]
        picked = picked - len(rows)
    return found


def timed(session: Session, rows: Mapping[str, Rows]) -> tuple[float, float]:
    """Seconds to delete `rows` and to insert them again."""
    given = {relation: as_table(some, session, relation) for relation, some in rows.items()}
    clock = Clock()
    session.apply(retract=given)
    delete = clock.lap()
    session.apply(insert=given)
    return delete, clock.lap()


def differences(
    session: Session, checked: tidelog.CheckedProgram, facts: Facts, modules: bool, tasks: tuple[str, ...]
) -> Iterator[str]:
    """One sentence for each task after whose deletions the session differs from one that starts over."""
    for task in tasks:
        gone = next(choices(task, facts, default_rng(7)))
        session.apply(retract={name: as_table(rows, session, name) for name, rows in gone.items()})
        kept = {name: without(rows, gone[name]) if name in gone else rows for name, rows in facts.items()}
        with opened(checked, kept, modules) as other:
            if sizes(session) != sizes(other):
                yield f"{task}: {sizes(session)} rows after deletions, {sizes(other)} from nothing"
        session.apply(insert={name: as_table(rows, session, name) for name, rows in gone.items()})


def without(rows: Rows, gone: Rows) -> Rows:
    """`rows` that are not among `gone`."""
    known = set(map(tuple, gone.tolist()))
    return rows[[row not in known for row in map(tuple, rows.tolist())]]


def sizes(session: Session) -> dict[str, int]:
    """How many rows each relation has."""
    return {relation: len(session[relation]) for relation in session}


def main(arguments: list[str]) -> None:
    program, folder, modules, *tasks = arguments
    figures = measure(Path(program), Path(folder), modules == "modules", tuple(tasks))
    print(json.dumps(asdict(figures)))


if __name__ == "__main__":
    main(sys.argv[1:])
