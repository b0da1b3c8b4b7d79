"""Both forms of a kernel: run one input through plain Python and through Numba, and see that they agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tidelog.kernels import jit
from tidelog.kernels.jit import Kernel

CAN_COMPILE = not jit._tier.disabled
"""False when NUMBA_DISABLE_JIT is set: then there is only the plain form."""

TIERS = ("plain", "compiled") if CAN_COMPILE else ("plain",)


def run_both(kernel: Kernel[..., Any], *arguments: Any) -> Any:
    """What `kernel` returns in either form; `arguments` hold what it wrote. Fails where the forms differ."""
    others = tuple(argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments)
    with tier("plain"):
        result = kernel(*arguments)
    if CAN_COMPILE:
        with tier("compiled"):
            assert kernel(*others) == result, kernel.__name__
        for number, (plain, compiled) in enumerate(zip(arguments, others, strict=True)):
            if isinstance(plain, np.ndarray):
                np.testing.assert_array_equal(plain, compiled, f"argument {number} of {kernel.__name__}")
    return result


@contextmanager
def tier(name: str) -> Iterator[None]:
    """Kernels called inside run in this form, however much work there is."""
    before = jit._tier.compiled, jit._tier.disabled
    jit._tier.compiled, jit._tier.disabled = False, True
    if name == "compiled":
        jit._load_numba()
        jit._tier.compiled = True
    try:
        yield
    finally:
        jit._tier.compiled, jit._tier.disabled = before


def form(argument: Any) -> list[Any]:
    """The form of what a kernel is given, as it is compiled for: see `kernels.elsewhere`."""
    if not isinstance(argument, np.ndarray):
        assert isinstance(argument, int | np.int64)
        return []
    assert argument.flags.c_contiguous
    assert argument.flags.writeable
    return [argument.dtype.name, argument.ndim, "C"]
