"""A TOML table whose keys are taken one by one: what is wrong with a key, or never asked for, is reported with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from tidelog.language.words import nearest

Choice = TypeVar("Choice", bound=Enum)
Default = TypeVar("Default")


class TomlTable:
    """The keys of one table. `problems` is shared by all tables of a file."""

    def __init__(self, entries: Mapping[str, Any], place: str, problems: list[str]) -> None:
        self._entries = entries
        self._place = place
        self._problems = problems
        self._asked: list[str] = []

    def text(self, key: str, default: str = "") -> str:
        """The text at `key`, not empty where it is given."""
        found = self._take(key, default)
        if not isinstance(found, str) or (key in self._entries and not found):
            return self._wrong(key, "a text that is not empty", found, default)
        return found

    def required_text(self, key: str, hint: str) -> str:
        """The text at `key`, which must be given."""
        if key not in self._entries:
            self._asked.append(key)
            self.report(key, f"is missing\n  hint: {hint}")
            return ""
        return self.text(key)

    def whole_number(self, key: str, default: int) -> int:
        """The number at `key`, at least 1."""
        found = self._take(key, default)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            return self._wrong(key, "a whole number from 1", found, default)
        return found

    def seconds(self, key: str, default: float) -> float:
        """The time at `key`, 0 or more."""
        found = self._take(key, default)
        if not isinstance(found, int | float) or isinstance(found, bool) or not found >= 0:
            return self._wrong(key, "seconds, 0 or more", found, default)
        return float(found)

    def choice(self, key: str, choices: type[Choice], default: Choice | None = None) -> Choice | None:
        """The member of an enum that `key` names."""
        words = [str(member.value) for member in choices]
        found = self.word(key, words, "")
        return choices(found) if found else default

    def word(self, key: str, words: Sequence[str], default: str) -> str:
        """The text at `key`, which must be one of `words`."""
        found = self._take(key, default)
        if found in words or key not in self._entries:
            return str(found)
        near = nearest(str(found), words)
        hint = f"did you mean '{near}'?" if near else ""
        return str(self._wrong(key, " or ".join(f"'{word}'" for word in words), found, default, hint))

    def texts(self, key: str) -> dict[str, str]:
        """The table at `key` with texts; numbers and truth values become the texts that Spark reads."""
        found = self._take(key, {})
        if not isinstance(found, dict):
            return self._wrong(key, "a table of texts", found, {})
        texts = {}
        for name, value in found.items():
            if isinstance(value, bool):
                texts[name] = str(value).lower()
            elif isinstance(value, str | int | float):
                texts[name] = str(value)
            else:
                self.report(f"{key}.{name}", f"expected a text, found {shown(value)}")
        return texts

    def values(self, key: str) -> dict[str, str | int | float]:
        """The table at `key` with texts and numbers as they are."""
        found = {}
        for name, value in dict(self._take(key, {})).items():
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                found[name] = value
            else:
                self.report(f"{key}.{name}", f"expected a text or a number, found {shown(value)}")
        return found

    def table(self, key: str) -> TomlTable:
        """The table at `key`, empty where there is none."""
        found = self._take(key, {})
        if not isinstance(found, dict):
            found = self._wrong(key, "a table", found, {})
        return TomlTable(found, self._at(key), self._problems)

    def tables(self, key: str) -> Iterator[tuple[str, TomlTable]]:
        """The tables in the table at `key`, by name."""
        outer = self.table(key)
        for name in outer._entries:
            yield name, outer.table(name)

    def has(self, key: str) -> bool:
        return key in self._entries

    def has_table(self, key: str) -> bool:
        return isinstance(self._entries.get(key), dict)

    def report(self, key: str, problem: str) -> None:
        """Adds a problem with `key` to those of the file."""
        self._problems.append(f"{self._at(key)}: {problem}")

    def done(self) -> None:
        """Reports the keys that nobody asked for."""
        for key in self._entries:
            if key not in self._asked:
                near = nearest(key, self._asked)
                known = f"did you mean '{near}'?" if near else f"known here: {', '.join(self._asked)}"
                self.report(key, f"unknown key\n  hint: {known}")

    def _take(self, key: str, default: Any) -> Any:
        self._asked.append(key)
        return self._entries.get(key, default)

    def _wrong(self, key: str, expected: str, found: object, default: Default, hint: str = "") -> Default:
        self.report(key, f"expected {expected}, found {shown(found)}" + (f"\n  hint: {hint}" if hint else ""))
        return default

    def _at(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key


def shown(value: object) -> str:
    """A TOML value as it is named in a message."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case dict():
            return "a table"
        case list():
            return "a list"
        case _:
            return str(value)
