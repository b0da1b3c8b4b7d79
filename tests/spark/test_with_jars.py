"""Delta tables, feeds and databases, and a state in Delta Lake.

Spark fetches the packages for a session of their own, so they are a script in another process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sources_with_jars


def test_a_script_that_needs_packages_of_spark(tmp_path: Path) -> None:
    words = [sys.executable, sources_with_jars.__file__, tmp_path / "folder"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode == sources_with_jars.NO_JARS:
        pytest.skip(f"the packages cannot be fetched here: {done.stdout[-300:]}")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    print(done.stdout)
