"""Kernels whose text was generated, compiled here or by another process that leaves the result on disk.

Compiling takes seconds and would hold up whoever runs Python in the same process. `python -m tidelog.kernels.generated`
reads what to compile from its input, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tidelog.kernels import ages, arithmetic, gather, jit, pair_numbers, push, runs, shared_push
from tidelog.kernels.jit import Kernel

NAMESPACE: dict[str, object] = {
    **{name: value for name, value in vars(push).items() if isinstance(value, Kernel) or name.isupper()},
    **{name: value for name, value in vars(shared_push).items() if isinstance(value, Kernel)},
    **{name: value for name, value in vars(gather).items() if isinstance(value, Kernel)},
    **{name: value for name, value in vars(runs).items() if isinstance(value, Kernel)},
    **{name: value for name, value in vars(arithmetic).items() if isinstance(value, Kernel)},
    **{name: value for name, value in vars(ages).items() if isinstance(value, Kernel)},
    **{name: value for name, value in vars(pair_numbers).items() if isinstance(value, Kernel)},
    "lowest_bit": jit.lowest_bit,
    "np": np,
}
"""What generated text may call."""

NAME = "push"

Form = list[Any]
"""An array as its dtype, dimensions and layout; a number as nothing."""


@cache
def generated_kernel(source: str) -> Kernel[..., Any]:
    """The function `push` of a text. The same text is the same kernel, whoever asks for it."""
    return jit.kernel_from(source, NAME, NAMESPACE)


def compile_elsewhere(jobs: Sequence[tuple[str, list[Form]]]) -> subprocess.Popen[str]:
    """A process that compiles texts for arguments of these forms; it ends by itself, and what it made is on disk."""
    compiling = subprocess.Popen(
        [sys.executable, "-m", "tidelog.kernels.generated"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C in the terminal is not meant for it
    )
    assert compiling.stdin is not None
    try:
        compiling.stdin.write(json.dumps(jobs))
        compiling.stdin.close()
    except BrokenPipeError:  # it has ended already; its exit code will say that nothing was made
        pass
    return compiling


def compile_here(source: str, forms: Sequence[Form]) -> None:
    """Compiles a text, or loads what is on disk, and leaves a note that it is there."""
    generated_kernel(source).compile_for(forms)
    with suppress(OSError):
        _note_of(source).write_text(_said_of(forms), encoding="utf-8")


def is_on_disk(source: str, forms: Sequence[Form]) -> bool:
    """Whether a process has compiled the text for such arguments on such a machine before."""
    try:
        return _note_of(source).read_text(encoding="utf-8") == _said_of(forms)
    except OSError:
        return False


def _note_of(source: str) -> Path:
    return Path(generated_kernel(source).python.__code__.co_filename).with_suffix(".compiled")


def _said_of(forms: Sequence[Form]) -> str:
    return json.dumps([list(forms), *jit.machine()])


def main() -> None:
    with suppress(AttributeError, OSError):  # Windows has no nice
        os.nice(19)  # who waits for answers comes first
    for source, forms in json.load(sys.stdin):
        compile_here(source, forms)


if __name__ == "__main__":
    main()
