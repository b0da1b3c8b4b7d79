"""`tidelog fmt`: programs in the standard layout, on stdout, in place, or only compared."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tidelog.cli.programs import STDIN
from tidelog.errors import InputError, OutputError
from tidelog.language.formatter import format_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("programs", metavar="PROGRAM", nargs="+", help="files to format; - reads standard input")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="name the files that would change; exit code 1 if any would")
    how.add_argument("--write", action="store_true", help="change the files in place")


def run(arguments: argparse.Namespace) -> int:
    written = {path: read_text(path) for path in arguments.programs}
    formatted = {path: format_text(text, path) for path, text in written.items()}
    changed = [path for path in written if written[path] != formatted[path]]
    if arguments.check:
        for path in changed:
            print(f"{path}: would be formatted")
        return 1 if changed else 0
    if arguments.write:
        for path in changed:
            replace_text(path, formatted[path])
        return 0
    for text in formatted.values():
        print(text, end="")
    return 0


def read_text(path: str) -> str:
    if path == STDIN:
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start})", path) from error


def replace_text(path: str, text: str) -> None:
    """Puts `text` in the place of the file `path`, whole or not at all; standard input goes to standard output."""
    if path == STDIN:
        print(text, end="")
        return
    target = Path(path).resolve()
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, delete=False) as file:
            file.write(text)
        os.chmod(file.name, target.stat().st_mode)
        os.replace(file.name, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
