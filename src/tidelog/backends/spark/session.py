"""A Spark session of Tidelog's own, for those who do not bring one: quiet, offline, on this machine unless told."""

from __future__ import annotations

import importlib
import os
import re
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tidelog.backends.spark.class_archive import give_up, writing_options
from tidelog.backends.spark.java import java_home
from tidelog.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONTAINER_MEMORY = Path("/sys/fs/cgroup/memory.max")
LOGGING = Path(__file__).with_name("log4j2.properties")
LOCAL_MASTERS = r"local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
CONNECT_PORT = 15002
CONNECT_SECONDS = 10
GIGABYTE = 2**30
ABOUT_PANDAS = "PySpark does not yet fully support pandas"


class LogLevel(Enum):
    """The least that Spark must have to say before it says it on the terminal."""

    OFF = "OFF"
    ERROR = "ERROR"
    WARN = "WARN"
    INFO = "INFO"
    DEBUG = "DEBUG"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How to start Spark. `options` are Spark's own settings (`spark.…`) and win over all that Tidelog would choose.

    `master` is Spark's: `local[*]`, `local[2]`, `spark://host:7077`, `yarn`; or `sc://host:15002` for Spark Connect.
    """

    master: str = "local[*]"
    application: str = "tidelog"
    progress: bool = False
    log_level: LogLevel = LogLevel.ERROR
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def remote(self) -> bool:
        """Whether the session is a client of Spark Connect."""
        return self.master.startswith("sc://")

    @property
    def local(self) -> bool:
        """Whether all of Spark runs on this machine."""
        return self.master.startswith("local")


HERE = SessionSettings()


def start_session(settings: SessionSettings = HERE) -> SparkSession:
    """A Spark session as `settings` say; the one that runs in this process already, as it is, where there is one.

    UsageError when PySpark or a fitting Java is missing, or Spark does not start.
    """
    _check(settings)
    running = _session_class().getActiveSession()
    if running is not None:
        return running
    _quieten_python(settings.log_level)
    return _connect(settings) if settings.remote else _launch(settings)


def session_options(settings: SessionSettings) -> dict[str, str]:
    """Every option of Spark that a session on `settings` is started with."""
    chosen = {
        "spark.app.name": settings.application,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if settings.remote:
        return chosen | dict(settings.options)
    chosen |= {
        "spark.master": settings.master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(settings.progress).lower(),
        # PySpark would note for each column where in Tidelog it is made: half of all that it says to Java.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Tidelog hands PySpark Arrow tables and never a pandas frame, so the version of pandas does not matter.
        "spark.executorEnv.PYTHONWARNINGS": f"ignore:{ABOUT_PANDAS}:FutureWarning",
    }
    if settings.local:
        chosen |= _local_options(settings.master)
    chosen |= settings.options
    asked = chosen.get(JAVA_OPTIONS, "")
    return chosen | {JAVA_OPTIONS: f"{_logging_options(settings.log_level)} {asked}".strip()}


def cores_of(master: str) -> int:
    """How many tasks run at a time on a local `master`."""
    found = re.match(r"local(?:-cluster)?\[(\*|\d+)(?:,\s*(\d+))?", master)
    if found is None:
        return 1
    if master.startswith("local-cluster"):
        return int(found[1]) * int(found[2])
    return _cores() if found[1] == "*" else int(found[1])


def _cores() -> int:
    """How many cores this process may use; the machine's where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check(settings: SessionSettings) -> None:
    for name, value in settings.options.items():
        if not name.startswith("spark."):
            raise UsageError(f"'{name}' is no option of Spark: those begin with 'spark.'")
        if not isinstance(value, str):
            raise UsageError(f"the option {name} is {value!r}; write it as text, '{value}'")
    if settings.local and not re.fullmatch(LOCAL_MASTERS, settings.master):
        raise UsageError(f"the master is '{settings.master}'; local ones are local, local[2] and local[*]")


def _session_class() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession
    except ImportError as reason:
        raise UsageError(f"PySpark is not installed ({reason}): run pip install 'tidelog[spark]'") from None
    return SparkSession


def _quieten_python(level: LogLevel) -> None:
    """Stops what PySpark itself prints: advice, and each error once more before it is raised."""
    warnings.filterwarnings("ignore", ABOUT_PANDAS, FutureWarning)
    if level in (LogLevel.OFF, LogLevel.ERROR):
        logger = importlib.import_module("pyspark.logger").PySparkLogger
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            logger.getLogger(name).disabled = True


def _connect(settings: SessionSettings) -> SparkSession:
    """A client of the Spark Connect server at `settings.master`."""
    _check_listening(settings.master)
    try:
        builder = _session_class().builder.remote(settings.master)
        for name, value in session_options(settings).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.range(1).count()  # nothing is sent to the server until it is asked for something
    except ImportError as reason:
        raise UsageError(f"Spark Connect lacks a package: run pip install 'pyspark[connect]' ({reason})") from None
    except Exception as reason:
        raise UsageError(f"no Spark Connect server answers at {settings.master}: {_first_line(reason)}") from reason
    return session


def _check_listening(master: str) -> None:
    """UsageError when nothing listens there: PySpark would try again for ten minutes."""
    address = urlsplit(master)
    try:
        socket.create_connection((address.hostname or "", address.port or CONNECT_PORT), CONNECT_SECONDS).close()
    except (OSError, ValueError) as reason:
        raise UsageError(f"no Spark Connect server answers at {master}: {_first_line(reason)}") from None


def _launch(settings: SessionSettings) -> SparkSession:
    """A session in a Java process that is started now."""
    home = java_home()
    try:
        return _started(settings, home)
    except Exception as reason:  # Py4J, PySpark and Spark each raise their own
        if "JAVA_GATEWAY_EXITED" in str(reason) and give_up(home):
            return _launch(settings)
        raise UsageError(f"Spark does not start on {settings.master}: {_first_line(reason)}") from reason


def _started(settings: SessionSettings, home: Path) -> SparkSession:
    options = session_options(settings)
    if settings.local and os.name == "posix":
        asked = options[JAVA_OPTIONS]
        options[JAVA_OPTIONS] = f"{writing_options(home, asked)} {asked}".strip()
    with _environment(_variables(settings, home)):
        builder = _session_class().builder
        for name, value in options.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


def _variables(settings: SessionSettings, home: Path) -> dict[str, str | None]:
    """The environment in which Spark starts; None for what must not be there."""
    variables: dict[str, str | None] = {"JAVA_HOME": str(home), "SPARK_REMOTE": None, "SPARK_API_MODE": None}
    if settings.local or "PYSPARK_PYTHON" not in os.environ:
        variables["PYSPARK_PYTHON"] = sys.executable  # the one that has Tidelog
    return variables


@contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """The process environment with `variables`, as long as Spark starts: its processes inherit it."""
    before = {name: os.environ.get(name) for name in variables}
    _set_environment(variables)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _local_options(master: str) -> dict[str, str]:
    """Options for Spark on this machine alone: no name look-ups, as many partitions as cores, memory shared."""
    partitions = str(cores_of(master))
    megabytes = _heap() // 2**20
    return {
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{megabytes}m",
        "spark.driver.maxResultSize": f"{megabytes // 2}m",
        "spark.default.parallelism": partitions,
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "tidelog-warehouse"),
    }


def _heap() -> int:
    """Bytes for Java: a quarter of the memory, from 1 to 8 GB. Workers and the local engine live beside it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # not in a container, or in one without a limit ("max")
        memory = min(memory, int(CONTAINER_MEMORY.read_text()))
    return min(max(memory // 4, GIGABYTE), 8 * GIGABYTE)


def _logging_options(level: LogLevel) -> str:
    """What tells Java which lines to print, before the first of them."""
    failures = LogLevel.OFF if level is LogLevel.ERROR else level
    return (
        f'"-Dlog4j2.configurationFile={LOGGING.as_uri()}" '
        f"-Dtidelog.log.level={level.value} -Dtidelog.log.failures={failures.value}"
    )


def _first_line(reason: BaseException) -> str:
    return (str(reason).strip().splitlines() or [type(reason).__name__])[0]
