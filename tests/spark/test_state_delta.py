"""A state in Delta Lake. The jars come with a session of its own, so it runs as a script in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(
    not os.environ.get("TIDELOG_DELTA") and not any(Path.home().glob(".ivy2*/jars/io.delta_delta-spark_*.jar")),
    reason="Delta Lake's jars were not fetched yet: set TIDELOG_DELTA=1 to fetch them",
)
def test_a_state_in_delta_lake_keeps_versions_deltas_and_survives_a_crash(tmp_path: Path) -> None:
    script = Path(__file__).with_name("state_on_delta.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path / "state"], capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
