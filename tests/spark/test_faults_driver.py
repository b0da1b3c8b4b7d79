"""A driver killed with SIGKILL at any moment: what it committed stays, and the next one goes on from there.

`TIDELOG_KILLS=50` kills that many, at every point and at random times; without it there are a few.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

from driver_to_kill import POINTS
from mortal_pipeline import AT_WORK, RESUMED, STARTED, Death, MortalPipeline

KILLS = int(os.environ.get("TIDELOG_KILLS", "0"))
ACTIONS = ("apply", "follow")
VICTIMS = ("python", "java", "both")

FEW = [
    ("run", Death("python", "the mark of the deltas is set")),
    ("follow", Death("both", "the manifest has its name", call=2)),
]


def test_whatever_is_killed_no_batch_is_lost_or_taken_twice(tmp_path: Path) -> None:
    chance = random.Random(7)
    pipeline = MortalPipeline(tmp_path, chance)
    kills = 0
    for chosen, death in many(chance) if KILLS else FEW:
        pipeline.feed(max(0, pipeline.taken() + 6 - len(pipeline.files)))
        before = pipeline.taken()
        action = chosen if pipeline.store().last() else "run"
        life = pipeline.live(action, death, most_seconds=30)
        kills += life.is_killed
        assert life.code in (0, 1, -signal.SIGKILL), f"{death}\n{life.said}"
        if life.code == 1:  # Python has outlived Java
            assert "error: Spark has ended in the middle of the work" in life.said, f"{death}\n{life.said}"
        assert life.is_killed or life.code == 0, f"{death}\n{life.said}"
        assert pipeline.taken() >= before
        print(f"{action}, {death}: {before} to {pipeline.taken()} files, exit code {life.code}", flush=True)
    last = pipeline.live("apply", None, most_seconds=600)
    assert last.code == 0, last.said
    assert pipeline.taken() == len(pipeline.files)
    pipeline.check_outputs()
    pipeline.end()
    assert kills >= (KILLS or len(FEW))


def many(chance: random.Random) -> list[tuple[str, Death]]:
    """Deaths at every point and, as many again or more, at random times; in a random order."""
    deaths = [Death(chance.choice(VICTIMS), point, chance.choice((1, 1, 2, 3))) for point in POINTS]
    while len(deaths) < KILLS + 4:  # some points are not reached in a life
        said, seconds = chance.choice([(STARTED, 2.0), (RESUMED, 5.0), (AT_WORK, 2.0)])
        deaths.append(Death(chance.choice(VICTIMS), seconds=chance.uniform(0, seconds), said=said))
    chance.shuffle(deaths)
    return [("run", Death("python", "one part is written")), *((chance.choice(ACTIONS), death) for death in deaths)]
