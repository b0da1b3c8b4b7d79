"""`make soak`: random programs with random changes, every variant of the engine, until it is stopped with Ctrl-C.

A story that the engine tells differently from the oracle is made as short as possible and saved as a case under
`cases/regressions/soak_<digest>/`, where `make test` tries it from then on: give it a name that says what it shows.
The work is done in a process of its own. Should a kernel end it, the story it was at is saved as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from multiprocessing import Process
from pathlib import Path
from shutil import copytree, rmtree

from hypothesis import HealthCheck, Phase, given, seed, settings

from case_files import ROOT
from change_strategies import CLOSURES, PROGRAMS, RISKY_PROGRAMS, Story, open_variants, stories
from replay import expected_history, replay
from tidelog.schema import Row

FAILURES = ROOT / "regressions"
SOURCES = {"programs": PROGRAMS, "risky programs": RISKY_PROGRAMS, "closures": CLOSURES}


class Soak:
    """What has been tried so far. `failing` is the last story that failed: while it is made shorter, the shortest.

    Each story is written to the folder `at_work` before it is told.
    """

    def __init__(self, folder: Path, at_work: Path) -> None:
        self.folder, self.at_work = folder, at_work
        self.told = self.pairs = self.changes = self.failures = 0
        self.began = time.monotonic()
        self.failing: tuple[Story, Exception] | None = None

    def tell(self, story: Story) -> None:
        """Tries one story with every variant."""
        self.told += 1
        history = expected_history(story)
        if history is not None:
            rmtree(self.at_work, ignore_errors=True)
            write_story(story, self.at_work)
            try:
                for session in open_variants(history.checked):
                    replay(history, session)
            except Exception as reason:  # whatever it was, the story that led to it is what counts
                self.failing = story, reason
                raise
            self.pairs += 1
            self.changes += len(story.steps)

    def batch(self, name: str, number: int, size: int) -> None:
        """Tries `size` stories of one source; saves the shortest that was found to fail, also when stopped."""

        @given(stories(SOURCES[name]))
        def told(story: Story) -> None:
            self.tell(story)

        quiet = settings(
            max_examples=size,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        self.failing = None
        try:
            with suppress(Exception):  # `failing` has it
                seed(number)(quiet(told))()
        finally:
            if self.failing is not None:
                self.failures += 1
                story, reason = self.failing
                saved = save(story, self.folder, reason)
                print(f"\n*** {type(reason).__name__} with {name}, seed {number}: saved as {saved}", flush=True)

    def __str__(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        return f"{minutes}:{seconds:02}  {self.pairs:,} pairs, {self.changes:,} changes, {self.failures} failures"


def save(story: Story, folder: Path, reason: BaseException) -> Path:
    """The new case folder with the program, facts and changes of `story`, and what the oracle expects."""
    case = folder / case_name(as_case(story) + str(story.steps))
    write_story(story, case)
    write(case / "found.txt", "".join(traceback.format_exception_only(reason)))
    return case


def case_name(text: str) -> str:
    return f"soak_{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def write_story(story: Story, case: Path) -> None:
    """Writes the program, facts and changes of `story`, and what the oracle expects, as a case."""
    write(case / "program.dl", as_case(story))
    for relation, rows in story.sample.facts.items():
        write_rows(case / "facts" / f"{relation}.facts", rows)
    for number, step in enumerate(story.steps, start=1):
        write(case / "changes" / f"{number:02}.changes", f"{step}\n")
    history = expected_history(story)
    if history is not None:
        for number, chapter in enumerate(history.chapters):
            expected = case / "expected" / (f"{number:02}" if number else ".")
            if chapter.fails:
                write(expected / "error", "")
            else:
                for relation, rows in chapter.rows.items():
                    write_rows(expected / f"{relation}.csv", rows)


def as_case(story: Story) -> str:
    """The text of the program with directives for all that is read and written."""
    stored = [relation.name for relation in story.sample.relations if relation.has_rows]
    return f"{story.sample.text}.input {', '.join(story.sample.facts)}\n.output {', '.join(stored)}\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_rows(path: Path, rows: Sequence[Row] | set[Row]) -> None:
    """Writes the rows, each once, their lines sorted; `()` is the row without columns."""
    lines = sorted({"\t".join(map(str, row)) if row else "()" for row in rows})
    write(path, "".join(f"{line}\n" for line in lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when something failed, else 0; it ends when it is stopped or, if asked to, after some minutes."""
    parser = argparse.ArgumentParser(prog="soak", description="Tries random changes of random programs until stopped.")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="where to begin (default: the time)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="how long to go on (default: until Ctrl-C)")
    parser.add_argument("--failures", type=Path, default=FAILURES, help="where to save what fails, as cases")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}; stop with Ctrl-C", flush=True)
    end = time.monotonic() + options.minutes * 60
    status = 0
    with tempfile.TemporaryDirectory(prefix="tidelog-soak-") as scratch:
        at_work = Path(scratch) / "at_work"
        for number in count(options.seed, 1_000_000):
            worker = Process(target=work, args=(number, end, options.failures, at_work))
            worker.start()
            with suppress(KeyboardInterrupt):
                worker.join()
            worker.join()
            assert worker.exitcode is not None
            if worker.exitcode >= 0:
                return max(status, worker.exitcode)
            status = 1
            case = options.failures / case_name(str(number))
            copytree(at_work, case, dirs_exist_ok=True)
            print(f"\n*** the process was ended by signal {-worker.exitcode}: saved as {case}", flush=True)
            if time.monotonic() > end:
                break
    return status


def work(number: int, end: float, failures: Path, at_work: Path) -> None:
    """Tries story after story from seed `number` on; the exit code is 1 when something failed."""
    soak = Soak(failures, at_work)
    with suppress(KeyboardInterrupt):
        while time.monotonic() < end or not soak.told:
            for name in SOURCES:
                soak.batch(name, number, size=20)
                print(f"\r{soak}", end="", flush=True)
            number += 1
    print(f"\r{soak}", flush=True)
    sys.exit(1 if soak.failures else 0)


if __name__ == "__main__":
    sys.exit(main())
