"""Included files: found, read, and kept within the folders that the user named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.errors import Diagnostic, Note
from tidelog.language.lexer import STRING, Token


@dataclass(frozen=True, slots=True)
class Included:
    """A file that an #include names: the name it is reported by, where it is, and what stands in it."""

    name: str
    path: Path
    text: str


@dataclass(slots=True)
class IncludeFinder:
    """Where the includes of a program may come from: the folder tree of `program`, and `folders`."""

    program: str
    folders: tuple[Path, ...]
    including: list[tuple[Included, Token]] = field(default_factory=list)

    def find(self, line: Token, tokens: list[Token]) -> Included | Diagnostic:
        """The file that an #include line asks for, or why it cannot be had."""
        wanted = wanted_name(line, tokens)
        if wanted is None:
            return Diagnostic("D144", "#include needs a file name", line.span, "write '#include \"file.dl\"'")
        name, starts = wanted, self.starts(tokens)
        if not starts and tokens[0].kind != STRING:
            hint = f"write '#include \"{name}\"' for a file beside this one"
            return Diagnostic("D142", f"there is no include folder to look for <{name}> in", line.span, hint)
        if not starts:
            hint = "give include_folders, or put the program in a file: then it may include files beside it"
            return Diagnostic("D142", "a text without a file has no folder to include from", line.span, hint)
        outside = False
        for start in starts:
            path = start / name
            if not self.allowed(path):
                outside = True
            elif os.path.isfile(path):  # False where the name itself cannot be
                return self.read(path, line)
        if outside:
            hint = "only the folder of the program, what is below it, and the include folders are read"
            return Diagnostic("D142", f"'{name}' is outside the folders of the program", line.span, hint)
        hint = "looked in " + ", ".join(f"'{start}'" for start in starts)
        return Diagnostic("D140", f"there is no file '{name}' to include", line.span, hint)

    def starts(self, tokens: list[Token]) -> list[Path]:
        """The folders to look in: that of the file with the #include, then the include folders."""
        if tokens[0].kind != STRING:
            return list(self.folders)
        if self.including:
            return [self.including[-1][0].path.parent, *self.folders]
        own = program_folder(self.program)
        return [*([own] if own else []), *self.folders]

    def allowed(self, path: Path) -> bool:
        """Whether `path`, links followed, lies in a folder tree that may be read."""
        own = program_folder(self.program)
        roots = [folder.resolve() for folder in ([own] if own else []) + list(self.folders)]
        resolved = path.resolve()
        return any(resolved.is_relative_to(root) for root in roots)

    def read(self, path: Path, line: Token) -> Included | Diagnostic:
        """The file at `path`, unless it is being read already or is not text."""
        resolved = path.resolve()
        own = [Path(self.program).resolve()] if program_folder(self.program) else []
        if resolved in [*own, *(included.path.resolve() for included, _ in self.including)]:
            notes = tuple(Note(f"'{included.name}' is included here", token.span) for included, token in self.including)
            hint = "take the part that both need into a third file"
            return Diagnostic("D141", f"'{path.name}' includes itself", line.span, hint, notes=notes)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            return Diagnostic("D143", f"'{path}' cannot be read: {error}", line.span, "it must be a text file in UTF-8")
        return Included(path.as_posix(), path, text)

    @contextmanager
    def inside(self, included: Included, line: Token) -> Iterator[None]:
        """While the tokens of `included` are read."""
        self.including.append((included, line))
        try:
            yield
        finally:
            self.including.pop()


def wanted_name(line: Token, tokens: list[Token]) -> str | None:
    """The name between the quotes or angle brackets of an #include line."""
    if len(tokens) == 1 and tokens[0].kind == STRING:
        return tokens[0].text[1:-1] or None
    if len(tokens) > 2 and tokens[0].kind == "<" and line.text.rstrip().endswith(">"):
        return line.text.split("<", 1)[1].rstrip()[:-1].strip() or None
    return None


def program_folder(program: str) -> Path | None:
    """The folder of the file `program`; None for a text that is no file, such as `<text>`."""
    return None if program.startswith("<") else Path(program).parent
