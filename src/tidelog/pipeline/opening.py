"""Opens a flow: what the caller gave is checked here, once, before Spark sees any of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar, cast

from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.checked import CheckedProgram
from tidelog.checking import check_program
from tidelog.errors import UsageError
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import Program
from tidelog.maintain.protocol import SILENT, Limits, Observer
from tidelog.pipeline.config import COMPILED_ROWS, Tier
from tidelog.pipeline.flow import Flow, FlowSettings, begin_flow, resume_flow
from tidelog.pipeline.given_frames import given_frames
from tidelog.pipeline.state import open_state
from tidelog.plan.reduction import Strategy
from tidelog.query import schema_of

Choice = TypeVar("Choice", bound=Enum)

NONE: Mapping[str, DataFrame] = MappingProxyType({})


def open_flow(
    program: Program | CheckedProgram | str,
    spark: SparkSession,
    *,
    inputs: Mapping[str, DataFrame] = NONE,
    state: str | Path = "",
    keep: Iterable[str] = (),
    tier: Tier | str | None = None,
    compiled_rows: int = COMPILED_ROWS,
    jobs: int = 1,
    limits: Limits | None = None,
    observer: Observer = SILENT,
    reduction: Strategy | str | None = None,
) -> Flow:
    """A flow over `inputs`, or, where `state` holds one, the flow that goes on from there.

    `keep` names the derived relations that the state stores beside the facts: without it those of `.output`, or all
    where there are none. Up to `compiled_rows` rows of inputs are kept in the driver, unless `tier` says where.
    `reduction` forces how recursive rules are shared among partitions where they are not.
    """
    checked = _checked(program)
    _check_session(spark)
    settings = FlowSettings(
        keep=_relations(keep, checked),
        tier=_choice("tier", tier, Tier),
        compiled_rows=_at_least_one("compiled_rows", compiled_rows),
        jobs=_at_least_one("jobs", jobs),
        limits=_limits(limits),
        observer=observer,
        reduction=_choice("reduction", reduction, Strategy),
    )
    frames = given_frames(inputs, checked, "inputs")
    store = open_state(_location(state), spark) if state else None
    last = store.last() if store is not None else None
    if store is None or last is None:
        return begin_flow(checked, spark, frames, store, settings)
    if frames:
        raise UsageError(
            f"there is a state at {state} already, at version {last.number}\n"
            "  hint: leave inputs out to go on from it and change it with apply, or name another folder"
        )
    return resume_flow(checked, spark, store, settings)


def is_alive(spark: SparkSession) -> bool:
    """Whether the session was not stopped, and the process or server in which Spark runs still answers."""
    try:
        _ = spark.range(1).schema
    except Exception:  # Py4J, gRPC and sockets each have their own way to say that nobody is there
        return False
    return True


def _checked(program: object) -> CheckedProgram:
    match program:
        case CheckedProgram():
            return program
        case Program():
            return check_program(program)
        case str():
            return check_program(parse(program))
        case Path():
            raise UsageError(f"expected a program or its text, found a path\n  hint: tidelog.parse_file({program!r})")
        case _:
            raise UsageError(f"expected a program or its text, found {type(program).__name__}")


def _check_session(spark: object) -> None:
    if not hasattr(spark, "createDataFrame"):  # sessions of Spark Connect have a class of their own
        raise UsageError(
            f"spark: expected a SparkSession, found {type(spark).__name__}\n"
            "  hint: SparkSession.builder.getOrCreate() gives one"
        )
    if not is_alive(cast(SparkSession, spark)):
        raise UsageError("spark: the session has ended\n  hint: SparkSession.builder.getOrCreate() gives a new one")


def _relations(keep: object, checked: CheckedProgram) -> frozenset[str]:
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise UsageError(f'keep: expected names of relations, such as ["path"], found {keep!r}')
    names = list(keep)
    for name in names:
        schema_of(name, checked)
    return frozenset(names)


def _choice(argument: str, given: object, choices: type[Choice]) -> Choice | None:
    """The member that is given itself or by its value."""
    if given is None or isinstance(given, choices):
        return given
    try:
        return choices(given)
    except ValueError:
        known = ", ".join(repr(member.value) for member in choices)
        raise UsageError(f"{argument}: expected one of {known}, found {given!r}") from None


def _at_least_one(argument: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise UsageError(f"{argument}: expected a whole number from 1, found {given!r}")
    return given


def _limits(given: object) -> Limits:
    if given is None:
        return Limits()
    if not isinstance(given, Limits):
        raise UsageError(f"limits: expected tidelog.Limits(rows=…, seconds=…), found {type(given).__name__}")
    return given


def _location(state: object) -> str:
    if not isinstance(state, str | Path):
        raise UsageError(f"state: expected a path or a URI, found {type(state).__name__}")
    return str(state)
