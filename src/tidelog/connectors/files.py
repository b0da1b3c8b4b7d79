"""Whole files in and out, with gzip looked through."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from tidelog.connectors.protocol import Options
from tidelog.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"


def contents(path: Path) -> bytes:
    """The bytes of the file, unpacked if gzip packed them; InputError when they cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as reason:
        raise InputError(f"cannot be read: {reason.strerror or reason}", str(path)) from None
    return unpacked(data, str(path)) if data.startswith(GZIP_MAGIC) else data


def unpacked(data: bytes, file: str) -> bytes:
    """What gzip packed into `data`."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as reason:
        raise InputError(f"the gzip data is damaged: {reason}", file) from None


@contextlib.contextmanager
def packing(file: BinaryIO, options: Options) -> Iterator[BinaryIO]:
    """`file`, or what packs with gzip into it when the options ask for that."""
    if not options.compress:
        yield file
        return
    # Without name and time, the same rows give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        yield cast(BinaryIO, packed)
