"""A pipeline whose drivers are killed: takes how one is to die, compares what it leaves with the oracle.

Each file of changes has a fact of its own, so the facts in the state say which files were taken. Files are taken in the
order of their times.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from processes import children_of, is_java, wait_until_gone

from oracle import evaluate
from tidelog.analysis.check import check
from tidelog.language.parser import parse
from tidelog.pipeline.config import Tier
from tidelog.pipeline.state import StateStore
from tidelog.pipeline.state.files import open_files
from tidelog.pipeline.state.parquet import ParquetState
from tidelog.schema import Row

DRIVER = Path(__file__).with_name("driver_to_kill.py")
PROGRAM = """\
.decl edge(a: number, b: number)
.input edge
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl last(a: number, n: number)
last(x, n) :- path(_, x), !edge(x, _), n = count : { path(_, x) }.
.output path, last
"""
CHECKED = check(parse(PROGRAM))
PIPELINE = """\
program = "rules.dl"
[state]
path = "state"
[inputs.edge]
path = "edges.csv"
[changes.edge]
path = "changes"
[outputs.path]
path = "out/path"
deltas = "out/path-changes"
[outputs.last]
path = "out/last"
deltas = "out/last-changes"
format = "csv"
[follow]
every = 0
files_per_batch = 1
refresh = 1
[engine]
tier = "{tier}"
[spark]
master = "local[2]"
[spark.options]
"spark.driver.memory" = "512m"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""
"""The options of Java make it start quicker: most of these lives are short."""
NODES = 6
START_SECONDS = 180
STARTED, RESUMED, AT_WORK = " started on ", " taken up again ", "batch "
"""What a driver says on its way."""

FIRST_MARK = 1_000_000
"""From here on nodes are marks: file n has an edge from and to FIRST_MARK + n."""

Changes = list[tuple[str, Row]]


@dataclass(frozen=True)
class Death:
    """How a driver ends: at the `call`th time that it passes `point`, or where there is none, some `seconds` after it
    has said what is in `said`."""

    victim: str
    point: str = ""
    call: int = 1
    seconds: float = 0.0
    said: str = STARTED

    def __str__(self) -> str:
        if self.point:
            return f"{self.victim} at {self.point} ({self.call})"
        return f"{self.victim} {self.seconds:.1f} s after '{self.said}'"


@dataclass
class Life:
    """What became of a driver: whether it was killed, its exit code, and what it said."""

    is_killed: bool
    code: int
    said: str


@dataclass
class MortalPipeline:
    folder: Path
    chance: random.Random
    tier: Tier = Tier.COMPILED
    files: list[Changes] = field(default_factory=list)
    javas: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start = [(one, one + 1) for one in range(4)]
        (self.folder / "changes").mkdir(parents=True)
        (self.folder / "rules.dl").write_text(PROGRAM)
        (self.folder / "pipeline.toml").write_text(PIPELINE.format(tier=self.tier.value))
        (self.folder / "edges.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in self.start))

    def feed(self, count: int) -> None:
        """Puts files of changes there, each whole at once."""
        for _ in range(count):
            number = len(self.files)
            changes: Changes = [("+", (FIRST_MARK + number, FIRST_MARK + number))]
            for _ in range(self.chance.randrange(4)):
                edge = (self.chance.randrange(NODES), self.chance.randrange(NODES))
                changes.append((self.chance.choice("+-"), edge))
            self.files.append(changes)
            hidden = self.folder / "changes" / f".{number}"
            hidden.write_text("op,a,b\n" + "".join(f"{sign},{a},{b}\n" for sign, (a, b) in changes))
            os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
            hidden.rename(self.folder / "changes" / f"{number}.csv")

    def live(self, action: str, death: Death | None, most_seconds: float = 120) -> Life:
        """Runs `tidelog pipeline ACTION` until it is killed or ends.

        One that goes on for more than `most_seconds` after Spark has started is killed too.
        """
        words = [sys.executable, str(DRIVER), action, "pipeline.toml"]
        if death is not None and death.point:
            words += [death.point, str(death.call), death.victim]
        log = self.folder / "driver.log"
        with log.open("wb") as output:
            driver = subprocess.Popen(words, cwd=self.folder, stdout=output, stderr=output)
        try:
            started = wait_for_word(driver, log, STARTED, START_SECONDS)
            self.javas += filter(is_java, children_of(driver.pid))
            strike_at = started + most_seconds
            if death is not None and not death.point:
                strike_at = wait_for_word(driver, log, death.said, most_seconds) + death.seconds
            while driver.poll() is None and time.monotonic() < strike_at:
                time.sleep(0.02)
            is_struck = driver.poll() is None
            if is_struck:
                assert death is not None, f"it takes too long: {log.read_text()}"
                strike_down(driver.pid, "both" if death.point else death.victim)
                driver.wait(120)
        finally:
            driver.kill()
            driver.wait()
        said = log.read_text()
        return Life(is_struck or "killing " in said, driver.returncode, said)

    def store(self) -> StateStore:
        return ParquetState(open_files(str(self.folder / "state")), None)  # type: ignore[arg-type]

    def batches(self) -> list[list[int]]:
        """The files that each version after the first took: one, or more that a killed driver had only noted.

        AssertionError if one was lost, taken twice or taken before an earlier one.
        """
        store, before, found = self.store(), set[int](), list[list[int]]()
        versions = store.versions()
        assert [one.number for one in versions] == list(range(1, len(versions) + 1))
        assert [one.note for one in versions[1:]] == [f"batch {number}" for number in range(len(versions) - 1)]
        for version in versions[1:]:
            marks = {a - FIRST_MARK for a, _ in rows_of(store.read_arrow("edge", version.number)) if a >= FIRST_MARK}
            assert marks > before, f"version {version.number} took no new file"
            found.append(sorted(marks - before))
            before = marks
        assert [file for files in found for file in files] == list(range(len(before)))
        return found

    def taken(self) -> int:
        """How many files were taken; AssertionError if the state is not what the oracle makes of them."""
        store = self.store()
        if store.last() is None:
            return 0
        batches = self.batches()
        expected = self.answers(batches)
        for relation in ("edge", "path", "last"):
            assert rows_of(store.read_arrow(relation)) == expected[relation], relation
        return sum(map(len, batches))

    def answers(self, batches: list[list[int]]) -> dict[str, set[Row]]:
        """What the oracle makes of files that were taken in these batches; in each, an insert wins."""
        edges = set(self.start)
        for numbers in batches:
            changes = [change for number in numbers for change in self.files[number]]
            inserted = {edge for sign, edge in changes if sign == "+"}
            edges = edges - {edge for sign, edge in changes if sign == "-"} | inserted
        return evaluate(CHECKED, {"edge": edges})

    def check_outputs(self) -> None:
        """AssertionError unless outputs have the last version, and deltas those of every version, each once."""
        out, before, batches = self.folder / "out", dict[str, set[Row]](), self.batches()
        for number in range(len(batches) + 1):
            now = self.answers(batches[:number])
            for relation in ("path", "last"):
                expected = {("appeared", *row) for row in now[relation] - before.get(relation, set())}
                expected |= {("vanished", *row) for row in before.get(relation, set()) - now[relation]}
                found = read_folder(out / f"{relation}-changes" / f"version={number + 1}")
                assert {(row[-1], *row[:-1]) for row in found} == expected, f"delta {number + 1} of {relation}"
                assert len(found) == len(expected)
            before = now
        for relation in ("path", "last"):
            assert set(read_folder(out / relation)) == before[relation]

    def end(self) -> None:
        """AssertionError if a Java lives on without its Python."""
        wait_until_gone(self.javas, 60)


def wait_for_word(driver: subprocess.Popen[bytes], log: Path, word: str, seconds: float) -> float:
    """The time when a driver had said a word, or had ended, or when `seconds` were over."""
    end = time.monotonic() + seconds
    while driver.poll() is None and time.monotonic() < end and word not in log.read_text():
        time.sleep(0.02)
    return time.monotonic()


def strike_down(driver: int, victim: str) -> None:
    """Kills a driver, its Java or both."""
    javas = [one for one in children_of(driver) if is_java(one)]
    for process in {"python": [driver], "java": javas, "both": [driver, *javas]}[victim]:
        os.kill(process, signal.SIGKILL)


def rows_of(table: pa.Table) -> set[Row]:
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert len(rows) == len(set(rows)), "a row is there twice"
    return set(rows)


def read_folder(folder: Path) -> list[tuple[object, ...]]:
    """The rows of the Parquet or CSV files in a folder; none where it is missing."""
    rows: list[tuple[object, ...]] = []
    for file in sorted(folder.glob("part-*")):
        if file.stat().st_size:
            table = pq.ParquetFile(file).read() if file.suffix == ".parquet" else pa_csv.read_csv(file)
            rows += zip(*(column.to_pylist() for column in table.columns), strict=True)
    return rows
