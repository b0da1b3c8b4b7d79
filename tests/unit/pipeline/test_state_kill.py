"""A writer killed with SIGKILL at any moment leaves the last committed version."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from state_model import Model, Step, check_equal, opened, random_script

WRITER = """
import sys
from pathlib import Path
import pytest
from state_model import Model, Step, compact_early, opened, random_script, run_action

compact_early(pytest.MonkeyPatch())
state, model = opened(Path(sys.argv[1])), Model()
last = state.last().number if state.last() else 0
for step in [action for action in random_script(1, 5000) if isinstance(action, Step)]:
    if model.last >= last:
        run_action(state, model, step)
        print(model.last + 1, flush=True)
    model.take(step)
"""


def test_a_writer_killed_again_and_again_loses_nothing_it_committed(tmp_path: Path) -> None:
    chance, reached = random.Random(5), 0
    for _ in range(4):
        reached = killed_after(tmp_path / "state", reached + 1, chance.uniform(0.0, 0.2))
        state = opened(tmp_path / "state")
        model = model_after(state.versions()[-1].number)
        assert reached <= model.last <= reached + 1
        check_equal(state, model)
        reached = model.last
    assert reached > 4


def killed_after(folder: Path, version: int, seconds: float) -> int:
    """The last version that a writer said it had committed, before it was killed some time after `version`."""
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent) as writer:
        assert writer.stdout is not None
        said = [int(writer.stdout.readline())]
        assert said == [version]
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)
        said += [int(line) for line in writer.stdout if line.endswith("\n")]
    return said[-1]


def model_after(version: int) -> Model:
    model = Model()
    for step in [action for action in random_script(1, 5000) if isinstance(action, Step)][:version]:
        model.take(step)
    return model
