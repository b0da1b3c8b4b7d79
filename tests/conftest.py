"""How the tests run: `TIDELOG_EXAMPLES` sets how many random examples each property is tried with."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tidelog",
    max_examples=int(os.environ.get("TIDELOG_EXAMPLES", "150")),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tidelog")
