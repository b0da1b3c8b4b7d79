"""A pipeline that watches, killed with SIGKILL at random times: no batch is told twice or lost (`make faults`)."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mortal_pipeline import AT_WORK, START_SECONDS, STARTED, read_folder, strike_down, wait_for_word
from processes import children_of, is_java, wait_until_gone

from oracle import evaluate
from tidelog.analysis.check import check
from tidelog.language.parser import parse
from tidelog.schema import Row

KILLS = int(os.environ.get("TIDELOG_KILLS", "0")) // 5
FILES = 3 * KILLS
PROGRAM = """\
.decl from(a: number, b: number)
.decl to(b: number, c: number)
.decl shut(b: number)
.decl hop(b: number, a: number, c: number)
hop(b, a, c) :- from(a, b), to(b, c), !shut(b).
"""
CHECKED = check(parse(PROGRAM))
RELATIONS = ("from", "to", "shut")
PIPELINE = """\
program = "rules.dl"
[state]
path = "state"
[watch]
buckets = 4
[outputs.hop]
deltas = "out"
[follow]
every = 0
files_per_batch = 1
[spark]
master = "local[2]"
[spark.options]
"spark.driver.memory" = "512m"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""


@pytest.mark.skipif(not KILLS, reason="takes minutes: make faults")
def test_a_watch_that_is_killed_tells_every_change_once(tmp_path: Path) -> None:
    chance = random.Random(11)
    (tmp_path / "rules.dl").write_text(PROGRAM)
    changes = "".join(f'[changes.{name}]\npath = "{name}"\nformat = "json"\n' for name in RELATIONS)
    (tmp_path / "pipeline.toml").write_text(PIPELINE + changes)
    feed(tmp_path, chance)
    kills = sum(live(tmp_path, "follow", chance.choice(("python", "java", "both")), chance) for _ in range(KILLS))
    assert not live(tmp_path, "apply", "", chance)
    held = set[Row]()
    states = list(states_after_batches(tmp_path))
    for version, state in enumerate(states, 1):
        found = read_folder(tmp_path / "out" / f"version={version}")
        appeared, vanished = ({row[:-1] for row in found if row[-1] == word} for word in ("appeared", "vanished"))
        assert len(appeared) + len(vanished) == len(found)
        assert not appeared & held
        assert vanished <= held
        held = held - vanished | appeared
        assert held == state
    assert int((tmp_path / "out/_tidelog_version").read_text()) == len(states)
    print(f"{kills} kills, {len(states)} batches")
    assert kills


def feed(folder: Path, chance: random.Random) -> None:
    """Puts files of changes there, which are taken in order."""
    for name in RELATIONS:
        (folder / name).mkdir()
    for number in range(FILES):
        name = chance.choice(list(RELATIONS))
        columns = CHECKED.schemas[name].names
        lines = []
        for row in {tuple(chance.randrange(4) for _ in columns) for _ in range(3)}:
            values = dict(zip(columns, row, strict=True))
            lines.append(json.dumps({**values, "op": "+" if chance.random() < 0.7 else "-"}) + "\n")
        file = folder / name / f"{number:03}.json"
        file.write_text("".join(lines))
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def states_after_batches(folder: Path) -> Iterator[set[Row]]:
    """The rows of the oracle after each batch that Spark has noted.

    After a crash a batch may have several files of a relation: what one inserts and another retracts is inserted.
    """
    waiting = {name: sorted((folder / name).iterdir()) for name in RELATIONS}
    facts: dict[str, set[Row]] = {name: set() for name in RELATIONS}
    batches = sorted((folder / "state.checkpoint/offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    reached = dict.fromkeys(RELATIONS, 0)
    for batch in batches:
        for name, offset in zip(RELATIONS, batch.read_text().splitlines()[2:], strict=True):
            end = json.loads(offset)["logOffset"] + 1
            changes = [json.loads(line) for file in waiting[name][reached[name] : end] for line in file.open()]
            inserted, retracted = ({values(change) for change in changes if change["op"] == op} for op in "+-")
            facts[name] = facts[name] - retracted | inserted
            reached[name] = end
        yield evaluate(CHECKED, facts)["hop"]
    assert reached == {name: len(files) for name, files in waiting.items()}


def values(change: dict[str, int]) -> Row:
    return tuple(value for name, value in change.items() if name != "op")


def live(folder: Path, action: str, victim: str, chance: random.Random) -> bool:
    """Runs a command, to its end where there is no victim; whether it was killed."""
    log = folder / "driver.log"
    with log.open("wb") as output:
        words = [sys.executable, "-m", "tidelog", "pipeline", action, "pipeline.toml"]
        driver = subprocess.Popen(words, cwd=folder, stdout=output, stderr=output)
    try:
        wait_for_word(driver, log, STARTED, START_SECONDS)
        javas = list(filter(is_java, children_of(driver.pid)))
        if not victim:
            assert driver.wait(600) == 0, log.read_text()
            return False
        wait_for_word(driver, log, AT_WORK if chance.random() < 0.7 else STARTED, 120)
        try:
            driver.wait(chance.uniform(0, 3))
        except subprocess.TimeoutExpired:
            strike_down(driver.pid, victim)
        assert driver.wait(120) in (1, -9), log.read_text()
        wait_until_gone(javas, 60)
        return True
    finally:
        driver.kill()
        driver.wait()
