"""Kernels whose text was generated, and notes of which of them a process has compiled and left on disk."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tidelog.kernels import ages, arithmetic, elsewhere, gather, jit, pair_numbers, push, runs, shared_push
from tidelog.kernels.elsewhere import Form
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


@cache
def generated_kernel(source: str) -> Kernel[..., Any]:
    """The function `push` of a text. The same text is the same kernel, whoever asks for it."""
    return jit.kernel_from(source, NAME, NAMESPACE)


def compile_here(source: str, forms: Sequence[Form]) -> None:
    """Compiles a text, or loads what is on disk, and leaves a note that it is there."""
    generated_kernel(source).compile_for(forms)
    elsewhere.note_compiled(_name_of(source), forms)


def is_on_disk(source: str, forms: Sequence[Form]) -> bool:
    """Whether a process has compiled the text for such arguments on such a machine before."""
    return elsewhere.is_noted(_name_of(source), forms)


def _name_of(source: str) -> str:
    return Path(generated_kernel(source).python.__code__.co_filename).stem
