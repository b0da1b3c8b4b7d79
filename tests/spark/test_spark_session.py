"""How Tidelog starts Spark: options, environment, and what a person sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidelog.backends.spark.session import LogLevel, SessionSettings, cores_of, session_options, start_session
from tidelog.errors import UsageError


def test_a_session_that_runs_is_taken_as_it_is(spark: SparkSession) -> None:
    assert start_session(SessionSettings(master="local[1]", application="other")) is spark
    assert spark.conf.get("spark.app.name") == "tidelog tests"


def test_the_workers_run_this_python_and_find_tidelog(spark: SparkSession) -> None:
    def where(batches):  # type: ignore[no-untyped-def]
        import pyarrow as pa

        import tidelog

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable], "tidelog": [tidelog.__file__]})

    (row,) = spark.range(1).mapInArrow(where, "python string, tidelog string").collect()
    assert row.python == sys.executable
    assert Path(row.tidelog).is_relative_to(Path(__file__).parents[2])


def test_starting_leaves_the_environment_as_it_was(spark: SparkSession) -> None:
    assert spark is not None
    assert "tidelog" not in os.environ.get("JAVA_HOME", "")
    assert os.environ.get("PYSPARK_PYTHON") != sys.executable


SAY_NOTHING = """
from pyspark.errors import PySparkException
from tidelog.backends.spark.session import SessionSettings, start_session

def fail(batches):
    raise ValueError("in a worker")

spark = start_session(SessionSettings(master="local[1]", options={"spark.driver.memory": "512m"}))
spark.range(1000).repartition(3).distinct().count()
for broken in (lambda: spark.range(1).mapInArrow(fail, "id long").toArrow(), lambda: spark.range(1).select("nothing")):
    try:
        broken()
    except PySparkException:
        pass
spark.stop()
"""


def test_nothing_is_printed_and_no_file_is_left(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    ran = subprocess.run(
        [sys.executable, "-c", SAY_NOTHING], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_local_spark_looks_no_name_up_and_has_a_partition_for_each_core() -> None:
    options = session_options(SessionSettings(master="local[3]"))
    assert options["spark.driver.host"] == "localhost"
    assert options["spark.sql.shuffle.partitions"] == "3"
    assert options["spark.sql.session.timeZone"] == "UTC"


def test_a_cluster_keeps_its_own_memory_and_partitions() -> None:
    options = session_options(SessionSettings(master="spark://host:7077"))
    assert not {"spark.driver.memory", "spark.sql.shuffle.partitions", "spark.driver.host"} & set(options)


def test_options_of_the_caller_win() -> None:
    asked = {"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-Dmine=1"}
    options = session_options(SessionSettings(options=asked))
    assert options["spark.driver.memory"] == "3g"
    assert options["spark.driver.extraJavaOptions"].endswith(" -Dmine=1")


def test_the_log_level_is_set_before_the_first_line() -> None:
    options = session_options(SessionSettings(log_level=LogLevel.INFO))
    assert "-Dtidelog.log.level=INFO" in options["spark.driver.extraJavaOptions"]


def test_a_client_of_spark_connect_sets_nothing_of_the_servers_machine() -> None:
    options = session_options(SessionSettings(master="sc://host:15002"))
    assert set(options) == {"spark.app.name", "spark.sql.session.timeZone", "spark.sql.execution.arrow.pyspark.enabled"}


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[4]", 4), ("local[4, 2]", 4), ("local-cluster[2,3,1024]", 6)],
)
def test_cores_of_a_local_master(master: str, cores: int) -> None:
    assert cores_of(master) == cores


def test_all_cores_are_those_this_process_may_use() -> None:
    assert cores_of("local[*]") == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("master", ["local[two]", "local[2", "localhost"])
def test_a_local_master_that_is_misspelt_is_refused(master: str) -> None:
    with pytest.raises(UsageError, match="local ones are"):
        start_session(SessionSettings(master=master))


@pytest.mark.parametrize(("name", "value"), [("driver.memory", "1g"), ("spark.sql.shuffle.partitions", 2)])
def test_an_option_that_is_none_of_sparks_is_refused(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=name):
        start_session(SessionSettings(options={name: value}))  # type: ignore[dict-item]


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(UsageError, match=r"pip install 'tidelog\[spark\]'"):
        start_session()


def test_importing_tidelog_does_not_import_pyspark() -> None:
    words = "import sys, tidelog, tidelog.backends.spark.session; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", words], check=True)


def test_a_session_through_connect_answers(connect_address: str) -> None:
    words = (
        "from tidelog.backends.spark.session import SessionSettings, start_session\n"
        f"spark = start_session(SessionSettings(master={connect_address!r}))\n"
        "assert spark.range(3).count() == 3\n"
        "assert spark.conf.get('spark.sql.session.timeZone') == 'UTC'\n"
    )
    ran = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_connect_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(UsageError, match=r"no Spark Connect server answers at sc://localhost:1: .*refused"):
        start_session(SessionSettings(master="sc://localhost:1"))
