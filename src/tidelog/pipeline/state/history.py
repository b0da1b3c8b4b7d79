"""The versions of a state: one manifest each, numbered from 1; the one with the highest number is the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tidelog.errors import ConflictError, StateError, UsageError
from tidelog.pipeline.state.columns import Columns
from tidelog.pipeline.state.files import Files, explaining
from tidelog.pipeline.state.manifest import Manifest, TableRecord, read_manifest, write_manifest
from tidelog.pipeline.state.protocol import Commit, VersionInfo

FOLDER = "versions"


class History:
    """What was committed to the state in `files`. Manifests never change, so each is read once."""

    def __init__(self, files: Files, layout: str) -> None:
        self._files, self._layout = files, layout
        self._known: dict[int, Manifest] = {}

    def versions(self) -> Sequence[VersionInfo]:
        """What is known of the versions that are kept, in order."""
        return [self.manifest(number).info for number in self.numbers()]

    def numbers(self) -> Sequence[int]:
        """The versions that are kept, in order."""
        return manifest_numbers(self._files)

    def manifest(self, number: int) -> Manifest:
        """The manifest of a version."""
        if not isinstance(number, int):
            raise UsageError(f"a version is a number, not {number!r}")
        if number not in self._known:
            path = manifest_path(number)
            try:
                with explaining(self._files.address):
                    text = self._files.read(path)
            except StateError as error:
                if isinstance(error.__cause__, FileNotFoundError):
                    raise self._no_version(number) from error
                raise
            manifest = read_manifest(text, f"{self._files.address}/{path}")
            if manifest.layout != self._layout:
                raise UsageError(
                    f"the state at {self._files.address} is kept as {manifest.layout}, not as {self._layout}: open it "
                    f'with format="{manifest.layout}" or "auto"'
                )
            self._known[number] = manifest
        return self._known[number]

    def last(self) -> Manifest | None:
        """The manifest of the last version; None before the first commit."""
        numbers = self.numbers()
        return self.manifest(numbers[-1]) if numbers else None

    def table(self, name: str, version: int | None) -> TableRecord:
        """What makes up a table at `version`, or at the last one."""
        manifest = self.last() if version is None else self.manifest(version)
        if manifest is None:
            raise StateError(
                f"there is no state at {self._files.address} yet: nothing was committed; run the pipeline first, or "
                f"check the path"
            )
        if name not in manifest.tables:
            known = ", ".join(sorted(manifest.tables)) or "none"
            raise UsageError(f"version {manifest.info.number} has no table '{name}'; its tables: {known}")
        return manifest.tables[name]

    def before(self, number: int) -> Manifest | None:
        """The version before `number`; None for the first. An error when it was cleaned away."""
        return self.manifest(number - 1) if number > 1 else None

    def replaced(self, name: str, version: int, columns: Columns) -> TableRecord | None:
        """What a table was before `version` replaced it; None where there was none, or one of other columns."""
        before = self.before(version)
        was = before.tables.get(name) if before else None
        return was if was is not None and was.columns == columns else None

    def base_of(self, commit: Commit, after: int | None) -> Manifest | None:
        """The version that `commit` builds on, if that is still the last one and the commit fits it."""
        numbers = self.numbers()
        last = numbers[-1] if numbers else None
        if last != after:
            raise self._conflict(after, last)
        if last is None:
            return None
        manifest = self.manifest(last)
        _check_program(manifest.info, commit, self._files.address)
        return manifest

    def publish(self, manifest: Manifest) -> VersionInfo:
        """Makes a version exist. `ConflictError` if another writer made one of that number first."""
        number = manifest.info.number
        try:
            with explaining(self._files.address):
                self._files.publish(manifest_path(number), write_manifest(manifest))
        except StateError as error:
            if isinstance(error.__cause__, FileExistsError):
                raise self._conflict(number - 1 or None, number) from error
            raise
        last = self.numbers()[-1]
        if last != number:  # others went on, and their version of this number was cleaned away already
            self._files.delete(manifest_path(number))
            raise self._conflict(number - 1 or None, last)
        self._known[number] = manifest
        return manifest.info

    def split(self, keep: int) -> tuple[Sequence[int], Sequence[Manifest]]:
        """The versions that go when the last `keep` stay, and those that stay."""
        if keep < 1:
            raise UsageError(f"at least one version must be kept, not {keep}")
        numbers = self.numbers()
        return numbers[:-keep], [self.manifest(number) for number in numbers[-keep:]]

    def forget(self, numbers: Sequence[int], last: int) -> None:
        """Removes versions, the oldest first, and what attempts at versions up to `last` left beside them."""
        with explaining(self._files.address):
            for number in sorted(numbers):
                self._files.delete(manifest_path(number))
                self._known.pop(number, None)
            for name in self._files.names(FOLDER):
                attempted = name.lstrip(".").partition(".")[0]
                if not _is_manifest(name) and attempted.isdecimal() and int(attempted) <= last:
                    self._files.delete(f"{FOLDER}/{name}")

    def _no_version(self, number: int) -> UsageError:
        kept = self.numbers()
        which = f"versions {kept[0]} to {kept[-1]} are kept" if kept else "nothing was committed yet"
        return UsageError(f"the state at {self._files.address} has no version {number}: {which}")

    def _conflict(self, after: int | None, last: int | None) -> ConflictError:
        def told(number: int | None) -> str:
            return "no version" if number is None else f"version {number}"

        return ConflictError(
            f"the state at {self._files.address} is at {told(last)}, and this commit builds on {told(after)}: "
            f"another run writes to the same state. Nothing was changed; start again from the last version, and let "
            f"only one run use a state at a time"
        )


def manifest_numbers(files: Files) -> Sequence[int]:
    """The numbers of the manifests in `files`, in order."""
    with explaining(files.address):
        names = files.names(FOLDER)
    return sorted(int(name.removesuffix(".json")) for name in names if _is_manifest(name))


def manifest_path(number: int) -> str:
    return f"{FOLDER}/{number:012d}.json"


def next_info(commit: Commit, base: Manifest | None, tables: Mapping[str, TableRecord]) -> VersionInfo:
    """What is known of the version that `commit` makes after `base`."""
    batches = base.info.batches if base and not commit.begins else {}
    return VersionInfo(
        number=base.info.number + 1 if base else 1,
        committed_at=datetime.now(UTC),
        fingerprint=commit.fingerprint,
        tables={name: table.rows for name, table in tables.items()},
        batches={**batches, **commit.batches},
        note=commit.note,
        metrics=dict(commit.metrics),
    )


def tables_before(commit: Commit, base: Manifest | None) -> Mapping[str, TableRecord]:
    """The tables that `commit` starts from: none when it begins anew."""
    return base.tables if base and not commit.begins else {}


def _check_program(last: VersionInfo, commit: Commit, address: str) -> None:
    if not commit.begins and commit.fingerprint != last.fingerprint:
        raise other_program(address, last, commit.fingerprint)


def other_program(address: str, last: VersionInfo, fingerprint: str) -> StateError:
    return StateError(
        f"the state at {address} was written by another program: version {last.number} has the fingerprint "
        f"{last.fingerprint[:12]}, this program {fingerprint[:12]}. Rules or declarations changed\n"
        f"  hint: tidelog pipeline run --anew derives all of it again from the inputs, as a new version of this state; "
        f"or name another folder"
    )


def _is_manifest(name: str) -> bool:
    return name.endswith(".json") and name.removesuffix(".json").isdecimal()


def layout_of(files: Files) -> str | None:
    """How the state in `files` is kept; None before the first commit."""
    numbers = manifest_numbers(files)
    if not numbers:
        return None
    path = manifest_path(numbers[-1])
    with explaining(files.address):
        return read_manifest(files.read(path), f"{files.address}/{path}").layout
