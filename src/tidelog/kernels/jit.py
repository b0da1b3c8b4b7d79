"""The one decorator: a kernel runs as plain Python while there is little to do, and compiled from then on.

Loading Numba takes half a second and compiling a kernel for the first time about as long, more than most small
programs need as a whole. So kernels start as the Python functions they are; `work` counts the rows handled, and
past `PLAIN_ROWS` the process switches to compiled code for good. Compiled code is kept on disk in one folder, named by
the text of all kernels, because Numba does not notice that a kernel called by another one has changed.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

PLAIN_ROWS = 4_000
"""Rows that plain Python handles before Numba is loaded: about as long as loading it takes."""


class Kernel(Generic[P, R]):
    """A function over arrays, callable in either form; kernels may call one another."""

    def __init__(self, function: Callable[P, R], *, is_inlined: bool = False) -> None:
        self.python = function
        self._is_inlined = is_inlined
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._dispatcher: Any = None

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> R:
        # Kernels are called thousands of times for a small change: no look-up more than needed.
        if _tier.compiled:
            result: R = (self._dispatcher or self.dispatcher)(*arguments, **keywords)
            return result
        with np.errstate(over="ignore"):
            return self.python(*arguments, **keywords)

    def compile_for(self, forms: Sequence[Sequence[Any]]) -> None:
        """Compiles it for arguments of these forms: an array is (dtype, dimensions, layout), a number is nothing."""
        types = _load_numba().types
        self.dispatcher.compile(
            tuple(types.Array(getattr(types, form[0]), form[1], form[2]) if form else types.int64 for form in forms)
        )

    @property
    def dispatcher(self) -> Any:
        """The Numba form, made when first asked for."""
        if self._dispatcher is None:
            self._dispatcher = _compile(self.python, is_inlined=self._is_inlined)
        return self._dispatcher


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """`function` as a kernel: numbers and arrays only, no Python objects inside."""
    return Kernel(function)


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """As `kernel`, for what is called so often inside others that the call would cost more than the work."""
    return Kernel(function, is_inlined=True)


def kernel_from(source: str, name: str, namespace: Mapping[str, object]) -> Kernel[..., Any]:
    """The function `name` of a source text as a kernel; `namespace` has the other kernels that it calls.

    The text is kept beside the compiled code, so that another process finds both, and a debugger the lines.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = _cache_folder() / f"tidelog_{name}_{digest}.py"
    with suppress(OSError):  # a folder that cannot be written to: then every process compiles for itself
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_suffix(f".{os.getpid()}")
            beside.write_text(source, encoding="utf-8")
            beside.replace(path)
    # Numba loads compiled code only for modules that it can import.
    module = sys.modules[path.stem] = ModuleType(path.stem)
    module.__dict__.update(namespace)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return Kernel(getattr(module, name))


def machine() -> tuple[str, str]:
    """What compiled code fits: the version of Numba and the name of the processor."""
    from llvmlite.binding import get_host_cpu_name

    return _load_numba().__version__, get_host_cpu_name()


def is_compiled() -> bool:
    """Whether this process runs compiled kernels by now."""
    return _tier.compiled


def prefetch(array: Any, index: Any) -> None:
    """Asks the processor to bring `array[index]` near; means nothing in plain Python."""


def lowest_bit(word: Any) -> int:
    """The number of the lowest bit that is set in a word of 64 bits, some of which are."""
    whole = int(word)
    return (whole & -whole).bit_length() - 1


def work(rows: int) -> None:
    """Notes that `rows` rows are about to be handled; past `PLAIN_ROWS` in all, kernels run compiled."""
    _tier.rows += rows
    if _tier.rows > PLAIN_ROWS and not _tier.compiled and not _tier.disabled:
        use_compiled()


def use_compiled() -> None:
    """Switches this process to compiled kernels, unless NUMBA_DISABLE_JIT is set."""
    if not _tier.disabled:
        _load_numba()
        _tier.compiled = True


class _Tier:
    def __init__(self) -> None:
        self.rows = 0
        self.compiled = False
        self.disabled = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
        self.numba: Any = None


_tier = _Tier()
_compiling = RLock()


def _load_numba() -> Any:
    """Numba, taught that a `Kernel` used inside a kernel is a compiled function, and what `prefetch` is."""
    if _tier.numba is None:
        import numba
        from numba.cpython.unsafe.numbers import trailing_zeros
        from numba.extending import overload, typeof_impl

        typeof_impl.register(Kernel)(lambda value, _context: numba.types.Dispatcher(value.dispatcher))
        instruction = _prefetch_instruction()
        overload(prefetch)(lambda array, index: lambda array, index: instruction(array, index))  # noqa: ARG005
        overload(lowest_bit)(lambda word: lambda word: trailing_zeros(word))  # type: ignore[call-arg]  # noqa: ARG005
        _tier.numba = numba
    return _tier.numba


def _prefetch_instruction() -> Any:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.extending import intrinsic
    from numba.np.arrayobj import make_array

    @intrinsic
    def instruction(_typing_context, array, index):
        def generate(context, builder, signature, arguments):
            data = make_array(signature.args[0])(context, builder, arguments[0]).data
            address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(function, [address, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.none(array, index), generate

    return instruction


def _compile(function: Callable[..., Any], *, is_inlined: bool) -> Any:
    numba = _load_numba()
    with _compiling:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(_cache_folder())
        try:
            is_kept = Path(function.__code__.co_filename).exists()
            return numba.njit(nogil=True, cache=is_kept, forceinline=is_inlined)(function)
        finally:
            numba.config.CACHE_DIR = before


def _cache_folder() -> Path:
    """Where compiled kernels are kept: beside their text, or in TIDELOG_CACHE_DIR; Numba falls back to its own folder
    only if this cannot be made."""
    here = Path(__file__).parent
    texts = b"".join(path.read_bytes() for path in sorted(here.glob("*.py")))
    checks = os.environ.get("NUMBA_BOUNDSCHECK", "0").encode()
    fingerprint = hashlib.sha256(texts + checks).hexdigest()[:16]
    chosen = os.environ.get("TIDELOG_CACHE_DIR")
    return (Path(chosen) if chosen else here / "__pycache__") / f"kernels-{fingerprint}"
