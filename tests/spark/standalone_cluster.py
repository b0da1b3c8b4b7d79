"""A Spark master with two workers on this machine, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from connect_server import end_with_parent, free_port
from connect_server import wait_for as wait_for_port

from tidelog.backends.spark.java import java_home

CLASSES = "org.apache.spark.deploy"
START_SECONDS = 180


def spark_home(folder: Path) -> Path:
    """A home for Spark in `folder`: PySpark's own, but what executors write goes there too."""
    home = folder / "spark"
    home.mkdir()
    for part in ("bin", "jars"):
        (home / part).symlink_to(Path(pyspark.__file__).parent / part)
    return home


@contextmanager
def standalone_cluster(home: Path) -> Iterator[str]:
    """The address of a master whose two workers are known to it; all of them end with the block."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as started:
        words = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]
        log = home / "master.log"
        wait_for_port(started.enter_context(daemon(home, "master.Master", words, log)), port, log)
        for number in (1, 2):
            words = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
            log = home / f"worker-{number}.log"
            wait_for_line(started.enter_context(daemon(home, "worker.Worker", [*words, address], log)), log)
        yield address


@contextmanager
def daemon(home: Path, name: str, words: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Spark's that runs as long as the block."""
    environment = os.environ | {
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [str(home / "bin" / "spark-class"), f"{CLASSES}.{name}", *words]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, cwd=home, preexec_fn=end_with_parent
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def wait_for_line(process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while b"Successfully registered with master" not in log.read_bytes():
        is_waiting = process.poll() is None and time.monotonic() < end
        assert is_waiting, f"the worker is not known to the master: {log.read_text()[-2000:]}"
        time.sleep(0.1)
