"""Delta tables, feeds and databases, and a state in Delta Lake.

Spark fetches the packages for a session of their own, so each is a script in another process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from state_on_delta import NO_JARS

HERE = Path(__file__).parent


@pytest.mark.parametrize("script", ["state_on_delta.py", "sources_with_jars.py"])
def test_a_script_that_needs_packages_of_spark(script: str, tmp_path: Path) -> None:
    words = [sys.executable, HERE / script, tmp_path / "folder"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode == NO_JARS:
        pytest.skip(f"the packages cannot be fetched here: {done.stdout[-300:]}")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    print(done.stdout)
