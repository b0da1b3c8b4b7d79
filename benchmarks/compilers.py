"""The processes that compile for a measured one: they would go on for minutes and take time from the next run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen
from unittest.mock import patch

from tidelog.kernels import elsewhere


@contextmanager
def ended_compilers() -> Iterator[None]:
    """A block at whose end the compilers are ended that were started in it."""
    started: list[Popen[str]] = []
    start = elsewhere.start_compiler

    def noted(module: str, jobs: object = None) -> Popen[str]:
        started.append(start(module, jobs))
        return started[-1]

    with patch.object(elsewhere, "start_compiler", noted):
        yield
    for process in started:
        process.terminate()
        process.wait()
