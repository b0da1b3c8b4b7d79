"""Compiling in another process: starts it, and keeps notes of what is on disk.

Compiling takes seconds and would hold up whoever runs Python in the same process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tidelog.kernels import jit
from tidelog.kernels.kept import cache_folder, can_be_kept

Form = list[Any]
"""An array as its dtype, dimensions and layout; a number as nothing."""


def start_compiler(module: str, jobs: object = None) -> subprocess.Popen[str]:
    """A process that runs a module, which reads its jobs as JSON and compiles; it ends by itself."""
    with _written_down(jobs) as written:
        return subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=written,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C in the terminal is not meant for it
        )


@contextmanager
def _written_down(jobs: object) -> Iterator[IO[str] | int]:
    """A file to read jobs from: a pipe takes little before somebody reads, so that who writes to it would wait.

    Where nothing can be kept, nobody could use what is made either: then there is nothing to read.
    """
    if not can_be_kept():
        yield subprocess.DEVNULL
        return
    with TemporaryFile("w+", encoding="utf-8", dir=cache_folder()) as file:
        json.dump(jobs, file)
        file.seek(0)
        yield file


def let_others_go_first() -> None:
    """Makes this process step back behind those who wait for answers."""
    with suppress(AttributeError, OSError):  # Windows has no nice
        os.nice(19)


def note_compiled(name: str, forms: Sequence[object]) -> None:
    """Notes that what has this name is on disk, for arguments of these forms."""
    with suppress(OSError):  # a folder that cannot be written to: then nothing is on disk either
        _note(name).write_text(_said_of(forms), encoding="utf-8")


def is_noted(name: str, forms: Sequence[object]) -> bool:
    """Whether a process has compiled it for such arguments on such a machine before."""
    try:
        return _note(name).read_text(encoding="utf-8") == _said_of(forms)
    except OSError:
        return False


def _note(name: str) -> Path:
    return cache_folder() / f"{name}.compiled"


def _said_of(forms: Sequence[object]) -> str:
    return json.dumps([list(forms), *jit.machine()])
