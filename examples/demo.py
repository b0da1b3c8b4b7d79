"""What `make demo` shows: records of people on Spark, clustered, and kept right while records come and go."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter

EXAMPLE = Path(__file__).resolve().parent / "entity_resolution"
sys.path.insert(0, str(EXAMPLE))

import generate  # noqa: E402

from tidelog.backends.spark.session import start_session  # noqa: E402
from tidelog.pipeline.config import Pipeline  # noqa: E402
from tidelog.pipeline.config_file import read_pipeline  # noqa: E402
from tidelog.pipeline.flow_delta import FlowDelta  # noqa: E402
from tidelog.pipeline.run import Hearer, apply, run  # noqa: E402

SHOWN = 5

TRY_NEXT = """\
What to try next, in {folder}:
  .venv/bin/tidelog pipeline status {folder}/pipeline.toml
  .venv/bin/tidelog pipeline show   {folder}/pipeline.toml person --as-of 1
  .venv/bin/tidelog pipeline follow {folder}/pipeline.toml    # then put CSV files into {folder}/changes
  .venv/bin/tidelog query {folder}/program.dl 'same("{record}", Other)' -F {folder}
  docs/tutorial/pipeline.md          this pipeline, step by step
  docs/tutorial/first-program.md     your first program
  make test                          everything that is checked, checked here
"""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="tidelog-demo-"))
    pipeline = prepared(folder)
    print(f"Which records are about the same person?  ({EXAMPLE / 'program.dl'})\n")
    started = perf_counter()
    spark = start_session(pipeline.spark)
    print(f"Spark {spark.version} runs on this machine ({perf_counter() - started:.0f} s to start).")

    print(f"\nDay 1: {generate.RECORDS:,} records of three systems.")
    run(pipeline, Hearer(say, tell))
    say(f"they are about {spark.read.parquet(pipeline.outputs['person'].path).count():,} people")

    print(f"\nDay 2: {generate.ARRIVING} more records arrive, and with them {generate.WRONG} of a faulty import,")
    print("each with the e-mail address of one person and the telephone number of another.")
    arrived = [*generate.arriving_records(), *generate.wrong_records()]
    generate.write_changes(folder / "changes" / "day-2.csv", "+", arrived)
    apply(pipeline, Hearer(say, tell))

    print("\nDay 3: the wrong records are taken back.")
    generate.write_changes(folder / "changes" / "day-3.csv", "-", generate.wrong_records())
    apply(pipeline, Hearer(say, tell))
    spark.stop()
    print()
    print(TRY_NEXT.format(folder=folder, record=generate.first_records()[0][0]))


def prepared(folder: Path) -> Pipeline:
    """The pipeline of the example with its data, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("program.dl", "pipeline.toml"):
        shutil.copy(EXAMPLE / name, folder / name)
    generate.main(folder)
    (folder / "changes").mkdir(exist_ok=True)
    return read_pipeline(folder / "pipeline.toml")


def say(line: str) -> None:
    print(f"  {line}", flush=True)


def tell(delta: FlowDelta) -> None:
    """Says what became of the clusters: which merged and which split, who came and who went."""
    before, after = places(delta, "vanished"), places(delta, "appeared")
    was, now = people(delta, "vanished"), people(delta, "appeared")
    moved = [(before[record], after[record]) for record in before.keys() & after.keys()]
    merged = Counter((old, new) for old, new in moved if old not in now)
    split = Counter((old, new) for old, new in moved if new not in was and old in now)
    print(f"  {delta.counts}; {len(now) - len(was):+,} people")
    show(
        "merged", (f"{old} ({counted(records)}) is the same person as {new}" for (old, new), records in merged.items())
    )
    show(
        "split",
        (f"{new} ({counted(records)}) is not the same person as {old}" for (old, new), records in split.items()),
    )
    show("came", (f"{record} is about {person}" for record, person in after.items() if record not in before))
    show("went", (f"{record} was about {person}" for record, person in before.items() if record not in after))


def places(delta: FlowDelta, part: str) -> dict[str, str]:
    """The person of each record that a change took from its place, or put there."""
    rows = getattr(delta["belongs"], part).toArrow()
    return dict(zip(rows.column("id").to_pylist(), rows.column("person").to_pylist(), strict=True))


def people(delta: FlowDelta, part: str) -> set[str]:
    """The people whose clusters were before, or are now, as they are."""
    return set(getattr(delta["person"], part).toArrow().column("id").to_pylist())


def counted(records: int) -> str:
    return f"{records} {'record' if records == 1 else 'records'}"


def show(word: str, lines: Iterable[str]) -> None:
    found = sorted(lines)
    for line in found[:SHOWN]:
        print(f"    {word:<7}{line}")
    if len(found) > SHOWN:
        print(f"    {word:<7}… and {len(found) - SHOWN:,} more")


if __name__ == "__main__":
    main()
