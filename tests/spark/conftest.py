"""One Spark session for all tests of this folder, and a Spark Connect server for those that ask for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("pyspark")
from connect_server import connect_server
from pyspark.sql import SparkSession

from tidelog.backends.spark.session import SessionSettings, start_session

REMOTE = "SPARK_CONNECT_MODE_ENABLED"
"""While it is set, PySpark's functions make columns for Spark Connect."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Plans are small and many: what the JVM's second compiler takes is never won back.
    options = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    session = start_session(SessionSettings(master="local[2]", application="tidelog tests", options=options))
    yield session
    session.stop()


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
