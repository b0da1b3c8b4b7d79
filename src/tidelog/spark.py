"""Rules over DataFrames: `tidelog.spark.open(program, spark, inputs={"edge": df}, state="…")`."""

from __future__ import annotations

try:
    from tidelog.backends.spark.reasons import JobError, RowsLostError
    from tidelog.pipeline.config import Tier
    from tidelog.pipeline.flow import Flow
    from tidelog.pipeline.flow_delta import FlowDelta, FlowRelationDelta
    from tidelog.pipeline.opening import open_flow as open
    from tidelog.plan.reduction import Reduction
    from tidelog.plan.reduction import Strategy as ReductionStrategy
except ModuleNotFoundError as reason:
    if (reason.name or "").partition(".")[0] not in ("pyspark", "py4j"):
        raise
    raise ImportError("PySpark is not installed: run pip install 'tidelog[spark]'", name="pyspark") from None

__all__ = [
    "Flow",
    "FlowDelta",
    "FlowRelationDelta",
    "JobError",
    "Reduction",
    "ReductionStrategy",
    "RowsLostError",
    "Tier",
    "open",
]
