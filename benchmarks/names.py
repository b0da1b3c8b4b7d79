"""What a benchmark can be asked for on the command line: names, and numbers of runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable


def one_of(known: Iterable[str]) -> Callable[[str], str]:
    """What takes one of these names; the error says which there are."""
    names = tuple(known)

    def name(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(names)}")
        return text

    return name


def positive(text: str) -> int:
    """A number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not a positive number")
    return value
