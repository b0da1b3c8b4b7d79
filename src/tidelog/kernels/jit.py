"""The one decorator: a kernel runs as plain Python while there is little to do, and compiled from then on.

Loading Numba takes half a second and compiling a kernel for the first time about as long, more than most small
programs need as a whole. So kernels start as the Python functions they are; `work` counts the rows handled, and
past `PLAIN_ROWS` the process switches to compiled code for good. Compiled code is kept on disk (`kept`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock, local
from time import thread_time
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from tidelog.kernels.kept import cache_folder

P = ParamSpec("P")
R = TypeVar("R")

PLAIN_ROWS = 4_000
"""Rows that plain Python handles before Numba is loaded: about as long as loading it takes."""


_COUNTING: Mapping[str, bool] = {"_nrt": True}
_LEAN: Mapping[str, bool] = {"_nrt": False}
"""Without counting who refers to an array: the count is a step that all threads wait for, several times a row."""


class Kernel(Generic[P, R]):
    """A function over arrays, callable in either form; kernels may call one another."""

    def __init__(self, function: Callable[P, R], options: Mapping[str, bool] = _COUNTING) -> None:
        self.python = function
        self._options = options
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

    def compiled_for(self, arguments: Sequence[Any]) -> Callable[P, R]:
        """The compiled form for arguments of exactly these types. It does not look at types: that takes half of a call
        with many arrays."""
        typeof = _load_numba().typeof
        entry: Callable[P, R] = self.dispatcher.compile(tuple(typeof(argument) for argument in arguments))
        return entry

    @property
    def dispatcher(self) -> Any:
        """The Numba form, made when first asked for."""
        if self._dispatcher is None:
            self._dispatcher = _compile(self.python, self._options)
        return self._dispatcher


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """`function` as a kernel: numbers and arrays only, no Python objects inside."""
    return Kernel(function)


def lean(function: Callable[P, R]) -> Kernel[P, R]:
    """As `kernel`, for what is called often inside others and makes no arrays of its own."""
    return Kernel(function, _LEAN)


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """As `kernel`, for what is called so often inside others that the call would cost more than the work. It makes no
    arrays of its own."""
    return Kernel(function, {"forceinline": True, **_LEAN})


def kernel_from(source: str, name: str, namespace: Mapping[str, object]) -> Kernel[..., Any]:
    """The function `name` of a source text as a kernel; `namespace` has the other kernels that it calls.

    It makes no arrays of its own. The text is kept beside the compiled code, so that another process finds both, and a
    debugger the lines.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = cache_folder() / f"tidelog_{name}_{digest}.py"
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
    return Kernel(getattr(module, name), _LEAN)


def machine() -> tuple[str, str]:
    """What compiled code fits: the version of Numba and the name of the processor."""
    from llvmlite.binding import get_host_cpu_name

    return _load_numba().__version__, get_host_cpu_name()


def is_compiled() -> bool:
    """Whether this process runs compiled kernels by now."""
    return _tier.compiled


def prefetch(array: Any, index: Any) -> None:
    """Asks the processor to bring `array[index]` near; means nothing in plain Python."""


def fetch_or(array: Any, index: Any, bits: Any) -> Any:
    """Sets bits of `array[index]`, what it was before; no other thread comes between if kernels are compiled."""
    before = array[index]
    array[index] = before | array.dtype.type(bits)
    return before


def swap_if(array: Any, index: Any, old: Any, new: Any) -> Any:
    """Makes `array[index]` new if it is `old`; what it was before. As `fetch_or` one step."""
    before = array[index]
    if before == old:
        array[index] = new
    return before


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


def seconds_compiling() -> float:
    """The processor's seconds in which this process has loaded Numba, written code, and compiled kernels or loaded what
    was compiled: whoever weighs what work costs leaves them out, because they come once."""
    return _tier.compiling


@contextmanager
def writing_code() -> Iterator[None]:
    """A block that writes code, which counts as compiling."""
    began = thread_time()
    try:
        yield
    finally:
        _tier.compiling += thread_time() - began


class _Tier:
    def __init__(self) -> None:
        self.rows = 0
        self.compiled = False
        self.compiling = 0.0
        self.disabled = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
        self.numba: Any = None


_tier = _Tier()
_compiling = RLock()


def _load_numba() -> Any:
    """Numba, taught that a `Kernel` used inside a kernel is a compiled function, and what is an instruction."""
    if _tier.numba is None:
        began = thread_time()
        import numba
        from numba.cpython.unsafe.numbers import trailing_zeros
        from numba.extending import overload, typeof_impl

        typeof_impl.register(Kernel)(lambda value, _context: numba.types.Dispatcher(value.dispatcher))
        fetch, set_bits, swap = _prefetch_instruction(), _fetch_or_instruction(), _swap_instruction()
        overload(prefetch)(lambda array, index: lambda array, index: fetch(array, index))  # noqa: ARG005
        overload(fetch_or)(lambda array, index, bits: lambda array, index, bits: set_bits(array, index, bits))  # noqa: ARG005
        overload(swap_if)(lambda array, index, old, new: lambda array, index, old, new: swap(array, index, old, new))  # noqa: ARG005
        overload(lowest_bit)(lambda word: lambda word: trailing_zeros(word))  # type: ignore[call-arg]  # noqa: ARG005
        _time_compiling()
        _tier.numba = numba
        _tier.compiling += thread_time() - began
    return _tier.numba


def _time_compiling() -> None:
    """Has Numba's compiler add the time that it takes, also to load what it has compiled."""
    from numba.core import event

    thread = local()

    class Stopwatch(event.Listener):
        def on_start(self, _event: Any) -> None:
            thread.depth = getattr(thread, "depth", 0) + 1
            if thread.depth == 1:
                thread.began = thread_time()

        def on_end(self, _event: Any) -> None:
            thread.depth -= 1
            if thread.depth == 0:
                _tier.compiling += thread_time() - thread.began

    event.register("numba:compiler_lock", Stopwatch())


def _prefetch_instruction() -> Any:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.extending import intrinsic

    @intrinsic
    def instruction(_typing_context, array, index):
        def generate(context, builder, signature, arguments):
            address = builder.bitcast(_address(context, builder, signature, arguments), cgutils.voidptr_t)
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(function, [address, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.none(array, index), generate

    return instruction


def _fetch_or_instruction() -> Any:
    from numba.core.extending import intrinsic

    @intrinsic
    def instruction(_typing_context, array, index, bits):
        def generate(context, builder, signature, arguments):
            given = context.cast(builder, arguments[2], bits, array.dtype)
            return builder.atomic_rmw("or", _address(context, builder, signature, arguments), given, "seq_cst")

        return array.dtype(array, index, bits), generate

    return instruction


def _swap_instruction() -> Any:
    from numba.core.extending import intrinsic

    @intrinsic
    def instruction(_typing_context, array, index, expected, value):
        def generate(context, builder, signature, arguments):
            was = context.cast(builder, arguments[2], expected, array.dtype)
            given = context.cast(builder, arguments[3], value, array.dtype)
            address = _address(context, builder, signature, arguments)
            found = builder.cmpxchg(address, was, given, "seq_cst", "seq_cst")
            return builder.extract_value(found, 0)

        return array.dtype(array, index, expected, value), generate

    return instruction


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where the element is that the first two arguments, an array and an index, stand for."""
    from numba.np.arrayobj import make_array

    return builder.gep(make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])


def _compile(function: Callable[..., Any], options: Mapping[str, bool]) -> Any:
    numba = _load_numba()
    with _compiling:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(cache_folder())
        try:
            is_kept = Path(function.__code__.co_filename).exists()
            return numba.njit(nogil=True, cache=is_kept, **options)(function)
        finally:
            numba.config.CACHE_DIR = before
