"""How the tests run: `TIDELOG_EXAMPLES` sets how many random examples each property is tried with.

They are others each time, unless `TIDELOG_REPEATABLE` is set, as `.ci/run` does: what passed once passes again, and
looking for new mistakes is left to `make test` and `make soak`.

Tests that are in `spark/` or ask for a Spark session have the mark `spark`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SPARK = Path(__file__).parent / "spark"

settings.register_profile(
    "tidelog",
    max_examples=int(os.environ.get("TIDELOG_EXAMPLES", "150")),
    deadline=None,
    derandomize=bool(os.environ.get("TIDELOG_REPEATABLE")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tidelog")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if SPARK in item.path.parents or {"spark", "connected"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)
