"""An executor killed with SIGKILL in the middle of every kind of stage: the answer is right.

On two clusters of two executors on this machine. Where `TIDELOG_KILLS` is set (`make faults`), each has every kind of
stage; without it only the first one runs, with a few.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from executor_killing import FEW, KINDS
from standalone_cluster import spark_home, standalone_cluster

HERE = Path(__file__).parent
SECONDS = 3600
ALL = "TIDELOG_KILLS" in os.environ


def test_in_a_local_cluster(tmp_path: Path) -> None:
    check(tmp_path, spark_home(tmp_path), "local-cluster[2,1,2048]", list(KINDS) if ALL else FEW)


@pytest.mark.skipif(not ALL, reason="takes minutes: make faults")
def test_in_a_cluster_of_a_master_and_two_workers(tmp_path: Path) -> None:
    home = spark_home(tmp_path)
    with standalone_cluster(home) as master:
        check(tmp_path, home, master, list(KINDS), cluster=os.getpid())


def check(folder: Path, home: Path, master: str, kinds: list[str], cluster: int = 0) -> None:
    """AssertionError unless the answer is right for each of `kinds`; `cluster` is above its executors."""
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]),
        "TIDELOG_CLUSTER": str(cluster),
    }
    words = [sys.executable, str(HERE / "executor_killing.py"), master, str(folder), *kinds]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=SECONDS)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[:5000]
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [f"right: {kind}" for kind in kinds]
