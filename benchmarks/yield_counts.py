"""What activation indexes touch on a workload, and how large they are: Table 1 and Figures 12 to 17 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.table import ABSENT, markdown
from benchmarks.yield_arrivals import arrivals, read
from benchmarks.yield_workloads import YieldWorkload, variants
from tidelog.activation.baselines import JoinIndex, Structure
from tidelog.activation.codes import Codes
from tidelog.activation.protocol import Accesses, ActivationIndex, IndexSize
from tidelog.activation.yield_index import YieldIndex
from tidelog.kernels import watch_program as program

OURS = "yield"
SEMANTIC = "… its semantic index"
ALL_COLUMNS = Structure.ALL_COLUMNS.value
MAKERS: dict[str, Callable[[], ActivationIndex]] = {
    **{structure.value: lambda structure=structure: JoinIndex(Codes(), structure) for structure in Structure},
    OURS: lambda: YieldIndex(Codes()),
}
HEADINGS = (
    *("structure", "building: searches (Fig. 16)", "entries", "all tuples: searches (12)", "tuples (13)"),
    *("inserted: searches (14)", "activations begun", "tuples (15)", "… with the inserted", "index entries (17)", "MB"),
)


@dataclass(frozen=True, slots=True)
class Counts:
    """What one structure touched on one workload: while it was built from all but the inserted half, when that half
    came, and when all matches were asked for in the end. `semantic` is what rules touched in building, if known.
    `begun` is how many stored tuples the matches have that began with the inserted ones."""

    matches: int
    begun: int
    built: Accesses
    semantic: Accesses | None
    inserted: Accesses
    base: Accesses
    size: IndexSize


def count(make: Callable[[], ActivationIndex], workload: YieldWorkload, size: int) -> Counts:
    """What a structure touches when half of a relation is inserted, and when all matches are asked for afterwards."""
    index = make()
    checked, rules = read(workload)
    numbers = {name: index.add_relation(schema) for name, schema in checked.schemas.items() if name != "result"}
    rule = index.add_rule(rules[0])
    tuples = workload.tuples(size)
    half = size // 2
    for name, rows in tuples.items():
        index.apply(arrivals(numbers[name], rows[half:] if name == workload.inserted else rows))
    built = index.accesses()
    semantic = semantic_part(index)
    began = index.apply(arrivals(numbers[workload.inserted], tuples[workload.inserted][:half]))
    begun = len(began) * (len(rules[0].literals) - 1)
    inserted = difference(index.accesses(), built)
    before = index.accesses()
    matches = len(index.matches(rule))
    return Counts(matches, begun, built, semantic, inserted, difference(index.accesses(), before), index.size())


def semantic_part(index: ActivationIndex) -> Accesses | None:
    """What the rules have touched to find partners, without the data indexes that all rules share."""
    if not isinstance(index, YieldIndex):
        return None
    sums = index.statistics.sum(axis=0)
    columns = (program.RULE_SEARCHES, program.RULE_ENTRIES_READ, program.TUPLES_READ, program.EFFECTIVE)
    return Accesses(*(int(sums[column]) for column in columns))


def difference(after: Accesses, before: Accesses) -> Accesses:
    return Accesses(
        after.searches - before.searches,
        after.entries - before.entries,
        after.tuples - before.tuples,
        after.activations - before.activations,
    )


def table(counts: dict[str, Counts]) -> str:
    """What each structure touched, and how large it is."""
    rows = [cells(made, found) for made, found in counts.items()]
    semantic = counts[OURS].semantic
    assert semantic is not None
    rows.append([SEMANTIC, f"{semantic.searches:,}", f"{semantic.entries:,}", *[ABSENT] * (len(HEADINGS) - 3)])
    return markdown(HEADINGS, rows)


def cells(name: str, counts: Counts) -> list[str]:
    built, base, inserted = counts.built, counts.base, counts.inserted
    figures = (
        *(built.searches, built.entries, base.searches, base.tuples, inserted.searches, inserted.activations),
        *(inserted.tuples, inserted.tuples + inserted.activations, counts.size.entries),
    )
    return [name, *(f"{figure:,}" for figure in figures), f"{counts.size.bytes / 1e6:.1f}"]


def savings(counts: dict[str, Counts]) -> str:
    """How much less than AAI the yield index touched, beside what the paper says of its own."""
    ours, theirs = counts[OURS], counts[ALL_COLUMNS]
    return (
        f"Less than AAI on inserted tuples: {fewer(ours.inserted.searches, theirs.inserted.searches)} of the searches "
        f"(paper: 3.9 to 36.5 %), {fewer(ours.inserted.tuples, theirs.inserted.tuples)} of the tuples, "
        f"{fewer(read_in_all(ours), read_in_all(theirs))} with the inserted ones (paper: 93.3 to 99.91 %). The matches "
        f"that began have {ours.begun:,} stored tuples, one of several matches counted for each: yield read "
        f"{ours.inserted.tuples:,}."
    )


def shares(workload: YieldWorkload, size: int) -> str:
    """What AAI and the yield index read of inserted tuples' partners, for other shares of tuples that meet."""
    return markdown(
        (f"{workload.name}, share that meets", "matches", "AAI tuples", "yield tuples", "fewer", "… with the inserted"),
        [share_cells(variant, size) for variant in variants(workload)],
    )


def share_cells(workload: YieldWorkload, size: int) -> Sequence[str]:
    ours, theirs = (count(MAKERS[made], workload, size) for made in (OURS, ALL_COLUMNS))
    figures = (ours.matches, theirs.inserted.tuples, ours.inserted.tuples)
    return [
        *(workload.name, *(f"{figure:,}" for figure in figures)),
        *(fewer(ours.inserted.tuples, theirs.inserted.tuples), fewer(read_in_all(ours), read_in_all(theirs))),
    ]


def read_in_all(counts: Counts) -> int:
    """Tuples read in activations, with the arriving one of each."""
    return counts.inserted.tuples + counts.inserted.activations


def fewer(ours: int, theirs: int) -> str:
    return f"{1 - ours / theirs:.1%} fewer" if theirs else ABSENT


def judge(title: str, counts: dict[str, Counts]) -> Iterator[str]:
    """What must not be: other matches, tuples read that are in none, or less touched by a structure that has an index
    to search for each join."""
    ours = counts[OURS]
    if ours.inserted.tuples > ours.begun:
        yield f"{title}: yield reads {ours.inserted.tuples:,} tuples for inserted tuples, matches have {ours.begun:,}"
    for name, found in counts.items():
        if found.matches != ours.matches:
            yield f"{title}: {name} finds {found.matches:,} matches, not {ours.matches:,}"
        if name in (ALL_COLUMNS, Structure.FILTERS.value, Structure.ORDERED.value):
            for part, theirs, own in (
                ("for inserted tuples", found.inserted, ours.inserted),
                ("for all tuples", found.base, ours.base),
            ):
                if theirs.searches < own.searches:
                    yield f"{title}: {name} searches {theirs.searches:,} times {part}, yield {own.searches:,}"
                if theirs.tuples < own.tuples:
                    yield f"{title}: {name} reads {theirs.tuples:,} tuples {part}, yield {own.tuples:,}"
