"""The few file operations that a state is made of, on a local disk or on anything Arrow can reach by a URI."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq

from tidelog.errors import StateError, UsageError

SMALL = 10_000
"""Rows of a file that is not worth packing."""

OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})
"""File systems without folders, where a file appears whole when it is closed."""

LOCAL = fs.LocalFileSystem()

ARROW_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's schemes that Arrow knows by another name."""


class Files(Protocol):
    """Files under one folder, named by paths that count from it; `address` is what Spark calls the folder."""

    address: str

    def names(self, folder: str) -> Sequence[str]:
        """What is in `folder`; nothing when it is missing."""
        ...

    def read(self, path: str) -> bytes:
        """The content of a file; `FileNotFoundError` when there is none."""
        ...

    def publish(self, path: str, content: bytes) -> None:
        """Makes a file appear, whole and to stay; `FileExistsError`, and no change, where there is one."""
        ...

    def read_rows(self, path: str, schema: pa.Schema) -> pa.Table:
        """The rows of a Parquet file or of a folder of them."""
        ...

    def write_rows(self, tables: Mapping[str, pa.Table]) -> None:
        """Writes Parquet files, by path, and the folders they need; returns when the disk has them."""
        ...

    def settle(self, path: str) -> int:
        """The number of rows in a folder that Spark wrote; returns when the disk has it."""
        ...

    def delete(self, path: str) -> None:
        """Removes a file or a folder; it may be gone already."""
        ...


def open_files(location: str) -> Files:
    """The files at a local path or a URI."""
    scheme = urlsplit(location).scheme
    if scheme in ("", "file"):
        return LocalFiles(Path(urlsplit(location).path if scheme else location))
    try:
        system, base = fs.FileSystem.from_uri(ARROW_SCHEMES.get(scheme, scheme) + location[len(scheme) :])
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"a state cannot be kept at {location}: {error}; use a local path, or a URI of s3, gs, hdfs or abfss"
        ) from error
    except OSError as error:
        raise StateError(f"the state at {location} cannot be reached: {error}") from error
    return RemoteFiles(system, base.rstrip("/"), location.rstrip("/"))


class LocalFiles:
    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self.address = f"file:{self._root}"
        self._root_is_settled = False

    def names(self, folder: str) -> Sequence[str]:
        try:
            return os.listdir(self._root / folder)
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        return (self._root / path).read_bytes()

    def publish(self, path: str, content: bytes) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _link(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _flush(target.parent)

    def read_rows(self, path: str, schema: pa.Schema) -> pa.Table:
        return _read_parquet(str(self._root / path), LOCAL, schema)

    def write_rows(self, tables: Mapping[str, pa.Table]) -> None:
        files = [self._root / path for path in tables]
        for folder in {file.parent for file in files}:
            folder.mkdir(parents=True, exist_ok=True)
        for file, rows in zip(files, tables.values(), strict=True):
            _write_parquet(rows, str(file), LOCAL)
        self._flush_with_folders(files)

    def settle(self, path: str) -> int:
        written = self._root / path
        self._flush_with_folders([*written.rglob("*"), written])
        return _count_rows(str(written), LOCAL)

    def delete(self, path: str) -> None:
        target = self._root / path
        try:
            target.unlink()
        except FileNotFoundError:
            return
        except (IsADirectoryError, PermissionError):  # unlinking a folder is the latter outside Linux
            shutil.rmtree(target)

    def _flush_with_folders(self, paths: Sequence[Path]) -> None:
        """Waits until the disk has the files, and the folders between them and the state's own."""
        folders = {folder for path in paths for folder in path.parents if folder.is_relative_to(self._root)}
        if self._root_is_settled:  # nothing is added to it after the first parts
            folders.discard(self._root)
        self._root_is_settled = True
        for path in (*paths, *(folders - set(paths))):
            _flush(path)


class RemoteFiles:
    """Files of an Arrow file system.

    Where it has no exclusive creation (object stores have none that Arrow offers) two writers at the very same moment
    are not told apart: one writer at a time there.
    """

    def __init__(self, system: fs.FileSystem, base: str, address: str) -> None:
        self._system, self._base, self.address = system, base, address

    def names(self, folder: str) -> Sequence[str]:
        selector = fs.FileSelector(self._path(folder), allow_not_found=True)
        return [info.base_name for info in self._system.get_file_info(selector)]

    def read(self, path: str) -> bytes:
        with self._system.open_input_stream(self._path(path)) as stream:
            return bytes(stream.readall())

    def publish(self, path: str, content: bytes) -> None:
        self._make_folder_of(path)
        if self._exists(path):
            raise FileExistsError(errno.EEXIST, "there is such a file already", path)
        if self._system.type_name in OBJECT_STORES:
            self._write(path, content)
            return
        temporary = f"{path}.{secrets.token_hex(6)}"
        self._write(temporary, content)
        self._system.move(self._path(temporary), self._path(path))

    def read_rows(self, path: str, schema: pa.Schema) -> pa.Table:
        return _read_parquet(self._path(path), self._system, schema)

    def write_rows(self, tables: Mapping[str, pa.Table]) -> None:
        for path, rows in tables.items():
            self._make_folder_of(path)
            _write_parquet(rows, self._path(path), self._system)

    def settle(self, path: str) -> int:
        return _count_rows(self._path(path), self._system)

    def delete(self, path: str) -> None:
        match self._system.get_file_info(self._path(path)).type:
            case fs.FileType.File:
                self._system.delete_file(self._path(path))
            case fs.FileType.Directory:
                self._system.delete_dir(self._path(path))

    def _path(self, path: str) -> str:
        return f"{self._base}/{path}" if self._base else path

    def _exists(self, path: str) -> bool:
        return self._system.get_file_info(self._path(path)).type != fs.FileType.NotFound

    def _write(self, path: str, content: bytes) -> None:
        with self._system.open_output_stream(self._path(path)) as stream:
            stream.write(content)

    def _make_folder_of(self, path: str) -> None:
        if self._system.type_name not in OBJECT_STORES:
            self._system.create_dir(self._path(path).rpartition("/")[0], recursive=True)


@contextlib.contextmanager
def explaining(address: str) -> Iterator[None]:
    """Turns what a file system says into an error that names the state."""
    try:
        yield
    except PermissionError as error:
        raise StateError(f"the state at {address} may not be written or read by this user: {error}") from error
    except FileNotFoundError as error:
        raise StateError(
            f"the state at {address} lacks a file that its versions name: {error}; it was removed by something else "
            f"than Tidelog: restore it from a backup, or materialise anew into another folder"
        ) from error
    except OSError as error:
        if error.errno == errno.EROFS:
            raise StateError(f"the state at {address} lies on a file system that is read-only") from error
        raise StateError(f"the state at {address} cannot be read or written: {error}") from error
    except (pa.ArrowInvalid, pa.ArrowKeyError, KeyError) as error:
        raise StateError(f"a part of the state at {address} is damaged: {error}; restore it from a backup") from error


def _write_parquet(rows: pa.Table, path: str, system: fs.FileSystem) -> None:
    if rows.num_rows <= SMALL:
        pq.write_table(rows, path, filesystem=system, compression="none", use_dictionary=False, write_statistics=False)
    else:
        pq.write_table(rows, path, filesystem=system, compression="zstd")


def _read_parquet(path: str, system: fs.FileSystem, schema: pa.Schema) -> pa.Table:
    pieces = [
        pq.ParquetFile(file, filesystem=system).read(schema.names).select(schema.names).cast(schema)
        for file in _parquet_files(path, system)
    ]
    return pa.concat_tables(pieces) if pieces else schema.empty_table()


def _count_rows(path: str, system: fs.FileSystem) -> int:
    return sum(pq.read_metadata(file, filesystem=system).num_rows for file in _parquet_files(path, system))


def _parquet_files(path: str, system: fs.FileSystem) -> list[str]:
    """The file at `path`, or those that Spark wrote into the folder there. (Arrow's datasets would load pandas.)"""
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if info.type == fs.FileType.File:
        return [path]
    within = system.get_file_info(fs.FileSelector(path))
    return sorted(file.path for file in within if file.base_name.endswith(".parquet") and file.base_name[0] not in "._")


def _link(temporary: Path, target: Path) -> None:
    """Gives a file its name unless the name is taken."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        if target.exists():  # a file system without links: all but two writers at the same moment are told apart
            raise FileExistsError(errno.EEXIST, "there is such a file already", str(target)) from error
        os.rename(temporary, target)


def _flush(path: Path) -> None:
    """Waits until the disk has what was written at `path`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
