"""The classes of Spark as Java has loaded them once, kept in a file: with it Spark starts in about half the time.

Java writes the file when a process of Spark ends, under another name, and its first bytes last: so a file that begins
as it should is whole. From then on every Java that starts through the same folder reads it (`java.py`). A file that
fits no more, as after an update of Java, is passed over by Java itself.
"""

from __future__ import annotations

import importlib
import os
import secrets
import time
from pathlib import Path

HEADER = 0xF00BABA8.to_bytes(4, "little")
"""What an archive of classes that were loaded by a program begins with."""

QUIET = "-Xlog:disable -Xlog:all=warning:stderr -Xlog:cds=off:stderr -Xlog:cds+dynamic=off:stderr"
"""Java has something to say of every class that it leaves out."""

WRITING_SECONDS = 3600
"""A file that is not whole after so long belongs to a Java that was killed."""

CHOSEN_BY_USER = ("-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit")


def archive_name() -> str:
    """The name of the file, in the folder that stands in front of Java."""
    return f"spark-{importlib.import_module('pyspark.version').__version__}.jsa"


def writing_options(home: Path, asked: str) -> str:
    """Options with which Java writes the archive; none where there is one, or `asked` has options of that kind."""
    if any(option in asked for option in CHOSEN_BY_USER) or _take_up(home):
        return ""
    return f'{QUIET} "-XX:ArchiveClassesAtExit={home / archive_name()}.{secrets.token_hex(6)}"'


def give_up(home: Path) -> bool:
    """Removes the archive, with which Java did not start; whether there was one."""
    archive = home / archive_name()
    is_there = archive.exists()
    archive.unlink(missing_ok=True)
    return is_there


def _take_up(home: Path) -> bool:
    """Whether there is an archive: the first one that has been written since last time gets its name now."""
    archive = home / archive_name()
    for written in home.glob(f"{archive.name}.*"):
        if _is_whole(written) and not archive.exists():
            os.replace(written, archive)
        elif _is_whole(written) or time.time() - written.stat().st_mtime > WRITING_SECONDS:
            written.unlink(missing_ok=True)
    return archive.exists()


def _is_whole(written: Path) -> bool:
    with written.open("rb") as file:
        return file.read(len(HEADER)) == HEADER
