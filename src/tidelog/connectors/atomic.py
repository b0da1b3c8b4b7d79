"""Files that appear together, whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol


class Participant(Protocol):
    """Something other than a file that takes part, such as a database transaction."""

    def commit(self) -> None: ...

    def abandon(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Staged:
    temporary: Path
    target: Path


class Publication:
    """A context in which files are written beside their targets; leaving it without an error puts all in place.

    After an error, or when a step of putting in place fails, every target is as it was and no temporary is left.
    """

    def __init__(self) -> None:
        self._staged: list[Staged] = []
        self._participants: list[Participant] = []
        self._folders: list[Path] = []

    def stage(self, target: Path) -> Path:
        """A new empty file in the folder of `target`, to be written in its stead; makes the folder if need be."""
        self.folder(target.parent)
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a folder")
        temporary = _beside(target, "new")
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        self._staged.append(Staged(temporary, target))
        return temporary

    @property
    def targets(self) -> frozenset[Path]:
        """The files staged so far."""
        return frozenset(staged.target for staged in self._staged)

    def folder(self, folder: Path) -> None:
        """Makes `folder` and its parents where they are missing; they go again if the publication fails."""
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir()
            self._folders.append(place)

    def enlist(self, participant: Participant) -> None:
        """Lets `participant` commit just before the files go in place, or abandon."""
        self._participants.append(participant)

    def __enter__(self) -> Publication:
        return self

    def __exit__(
        self, error: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self._abandon()
            return
        try:
            self._publish()
        except BaseException:
            self._abandon()
            raise

    def _publish(self) -> None:
        for staged in self._staged:
            _flush(staged.temporary)
        while self._participants:
            self._participants[0].commit()
            self._participants.pop(0)
        with contextlib.ExitStack() as undo:
            kept = [_replace(staged, undo) for staged in self._staged]
            undo.pop_all()
        for backup in kept:
            if backup is not None:
                backup.unlink(missing_ok=True)
        for folder in {staged.target.parent for staged in self._staged}:
            _flush(folder)

    def _abandon(self) -> None:
        for participant in self._participants:
            participant.abandon()
        for staged in self._staged:
            staged.temporary.unlink(missing_ok=True)
        for folder in reversed(self._folders):
            with contextlib.suppress(OSError):  # something else may be in it by now
                folder.rmdir()


def _replace(staged: Staged, undo: contextlib.ExitStack) -> Path | None:
    """Puts a file in place; returns the copy of what was there before, and leaves in `undo` how to bring it back."""
    backup: Path | None = None
    if os.path.lexists(staged.target):
        backup = _beside(staged.target, "old")
        undo.callback(backup.unlink, missing_ok=True)
        _duplicate(staged.target, backup)
    os.replace(staged.temporary, staged.target)
    if backup is None:
        undo.callback(staged.target.unlink, missing_ok=True)
    else:
        undo.callback(os.replace, backup, staged.target)
    return backup


def _duplicate(original: Path, copy: Path) -> None:
    """Gives `original` a second name, or copies it where the file system has no links."""
    try:
        os.link(original, copy, follow_symlinks=False)
    except OSError:
        shutil.copy2(original, copy, follow_symlinks=False)


def _beside(target: Path, purpose: str) -> Path:
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.{purpose}")


def _flush(path: Path) -> None:
    """Waits until the disk has what was written at `path`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
