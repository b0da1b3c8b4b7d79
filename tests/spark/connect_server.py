"""A Spark Connect server on this machine, in a process of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tidelog.backends.spark.java import java_home
from tidelog.backends.spark.session import SessionSettings, session_options

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
START_SECONDS = 180
PR_SET_PDEATHSIG = 1


@contextmanager
def connect_server(log: Path) -> Iterator[str]:
    """The address of a server that runs as long as the context; what it prints goes to the file `log`."""
    port = free_port()
    options = session_options(SessionSettings(master="local[2]", options={"spark.driver.memory": "1g"}))
    options["spark.connect.grpc.binding.port"] = str(port)
    words = [f"{Path(pyspark.__file__).parent}/bin/spark-submit", "--class", SERVER]
    for name, value in options.items():
        words += ["--conf", f"{name}={value}"]
    environment = os.environ | {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*words, "spark-internal"], env=environment, stdout=output, stderr=output, preexec_fn=end_with_parent
        )
    try:
        wait_for(process, port, log)
        yield f"sc://localhost:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the Spark Connect server does not answer: {log.read_text()[-2000:]}")


def end_with_parent() -> None:
    """Asks Linux to end this process when the test run is killed, which leaves no time to clean up."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
