"""Whether the kernels of a run can be had without waiting. They take some ten seconds to compile, more than most runs.

So where they are not on disk yet, another process compiles them, once for a machine: `python -m
tidelog.production.at_once.compiling`. Meanwhile the network runs the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from subprocess import Popen
from threading import Lock
from typing import Any

from tidelog.kernels import elsewhere
from tidelog.kernels.elsewhere import Form
from tidelog.kernels.firing import all_changes, fire, net_changes, read_log
from tidelog.kernels.firing_tables import make_room, make_rooms, take_rows
from tidelog.kernels.jit import Kernel
from tidelog.kernels.kept import can_be_kept

KERNELS: tuple[Kernel[..., Any], ...] = (take_rows, make_room, make_rooms, net_changes, all_changes, read_log, fire)
"""What Python calls in a run."""

_NAME = "firing"
_ARRAYS = ("memory", "operands", "acted_on", "registers", "cursors", "row", "given", "log", "state", "rooms")
_TABLES = (
    "relations", "indexes", "steps", "heads", "plans", "alternatives", "triggers", "asking", "rules", "matters",
    "seen", "waiting", "fired", "rows", "out",
)  # fmt: skip
_FORMS: Mapping[str, Form] = {
    **{name: ["int64", 1, "C"] for name in _ARRAYS},
    "halves": ["int32", 1, "C"],
    **{name: ["int64", 2, "C"] for name in _TABLES},
}
"""What kernels take, by the names that it has in all of them; the rest are numbers."""


class Compiler:
    """Looks whether the kernels are on disk, and has them compiled if not."""

    def __init__(self) -> None:
        self._is_ready = False
        self._process: Popen[str] | None = None
        self._starting = Lock()

    def is_ready(self) -> bool:
        """Whether the kernels are there; from the first time that they are not, another process compiles them."""
        if not self._is_ready:
            with self._starting:
                self._is_ready = elsewhere.is_noted(_NAME, _forms())
                if not self._is_ready and self._process is None and can_be_kept():
                    self._process = elsewhere.start_compiler(__name__)
        return self._is_ready


compiler = Compiler()


def compile_here() -> None:
    """Compiles the kernels in this process, or loads them, and leaves a note that they are on disk."""
    for kernel, forms in zip(KERNELS, _forms(), strict=True):
        kernel.compile_for(forms)
    elsewhere.note_compiled(_NAME, _forms())


def _forms() -> list[list[Form]]:
    return [[_FORMS.get(name, []) for name in signature(kernel.python).parameters] for kernel in KERNELS]


def main() -> None:
    elsewhere.let_others_go_first()
    compile_here()


if __name__ == "__main__":
    main()
