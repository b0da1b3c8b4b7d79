"""One Spark session for all tests of this folder, and a Spark Connect server for those that ask for it.

Where several workers share the tests, each takes the next one that is left (`--dist loadgroup`): what takes longest
comes first, and one worker has all tests that need the server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from connect_server import connect_server
from pyspark.sql import SparkSession

from tidelog.backends.spark.session import SessionSettings, start_session

HERE = Path(__file__).parent
LONG = ("test_faults_driver", "test_faults_executor", "test_with_jars", "test_random_changes", "in_the_cluster")
"""What is in the names of tests that take long, the longest first."""

QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Options with which Spark runs a plan as it stands: to compile it takes longer than to run it on a few rows."""

REMOTE = "SPARK_CONNECT_MODE_ENABLED"
"""While it is set, PySpark's functions make columns for Spark Connect."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    own = [place for place, item in enumerate(items) if HERE in item.path.parents]
    for place, item in zip(own, sorted((items[place] for place in own), key=_turn), strict=True):
        items[place] = item
        if {"connected", "connect_address"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("connect"))


def _turn(item: pytest.Item) -> int:
    return next((turn for turn, word in enumerate(LONG) if word in item.nodeid), len(LONG))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Plans are small and many: what the JVM's second compiler takes is never won back. Without that one it has a fifth
    # of the usual room for code, and ends when there is no more.
    options = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"}
    session = start_session(SessionSettings(master="local[2]", application="tidelog tests", options=options))
    yield session
    session.stop()


@pytest.fixture
def quick(spark: SparkSession) -> Iterator[None]:
    """The session with the options of `QUICK`, for cases and changes, which take many jobs; others have it as it is."""
    before = {name: spark.conf.get(name) for name in QUICK}
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    yield
    for name, was in before.items():
        spark.conf.set(name, was)


@pytest.fixture(scope="session")
def connect_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a Spark Connect server listens; started when the first test asks for it."""
    pytest.importorskip("grpc")
    with connect_server(tmp_path_factory.mktemp("connect") / "server.log") as address:
        yield address


@pytest.fixture
def connected(connect_address: str) -> Iterator[SparkSession]:
    """A Spark Connect session. A test uses this one or `spark`, never both: PySpark's functions go with one of them."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    os.environ[REMOTE] = "1"
    session = RemoteSession.builder.remote(connect_address).create()
    yield session
    session.stop()
    os.environ.pop(REMOTE, None)
