"""The code of rules compiled by another process, after the kernels that only such code needs.

`python -m tidelog.backends.local.compiling` reads from its input what to compile, as JSON. Batches never lay out words
or runs, and their sets become bits and larger at other times. So these kernels are not there when code is there for the
first time, and whoever takes the code over would compile them while somebody waits for the answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from inspect import signature
from subprocess import Popen
from typing import Any

from tidelog.backends.local.pushing import PushedCode
from tidelog.codegen.operands import BYTES, IDS, LONGS, ROWS, ChangedKeys, Form, Operand, RunsOf, Sink, Words
from tidelog.codegen.push_rule import Sharing
from tidelog.kernels import elsewhere
from tidelog.kernels.digits import sort_by_digits
from tidelog.kernels.generated import compile_here
from tidelog.kernels.jit import Kernel
from tidelog.kernels.push import settle_pairs
from tidelog.kernels.rows import largest_of_pairs
from tidelog.kernels.runs import find_runs, sort_into_runs
from tidelog.kernels.shared_push import settle_shared_pairs
from tidelog.kernels.word_rows import forget_words, lay_out_words, merge_words, pack_pairs, remove_from_words
from tidelog.kernels.word_set import gather_words, move_words, spread_words

Kernels = tuple[Kernel[..., Any], ...]

_WORDS: Kernels = (
    forget_words, largest_of_pairs, pack_pairs, sort_by_digits, lay_out_words, merge_words, remove_from_words
)  # fmt: skip
_RUNS: Kernels = (find_runs, sort_into_runs)
_PAIRS: Kernels = (move_words, spread_words, gather_words)
_SETTLING: Mapping[Sharing, Kernel[..., Any]] = {
    Sharing.ALONE: settle_pairs,
    Sharing.TOGETHER: settle_shared_pairs,
}

KERNELS: Mapping[str, Kernel[..., Any]] = {
    kernel.__name__: kernel for kernel in (*_WORDS, *_RUNS, *_PAIRS, *_SETTLING.values())
}
"""By name, what Python calls before or after the code of a rule, and for batches never or not always."""

_FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("keys", "starts", "counts", "sizes", "words", "rooms", "left", "own"), IDS),
    **dict.fromkeys(("from_starts", "from_counts", "from_sizes", "from_words"), IDS),
    **dict.fromkeys(("packed", "numbers", "spare", "bits", "from_bits", "begins", "places"), LONGS),
    **dict.fromkeys(("entries", "target", "cells", "out", "waiting", "counters"), LONGS),
    **dict.fromkeys(("pairs", "rows"), ROWS),
    "row_bytes": BYTES,
}
"""What kernels take, by the names that it has in all of them; the rest are numbers."""


def compile_elsewhere(codes: Iterable[PushedCode]) -> Popen[str]:
    """A process that compiles the code of rules; it ends by itself, and what it made is on disk."""
    jobs = [(code.rule.source, code.rule.forms, kernels_beside(code)) for code in codes]
    return elsewhere.start_compiler(__name__, jobs)


def kernels_beside(code: PushedCode) -> list[str]:
    """The names of the kernels that the code of a rule cannot be used without."""
    kernels = (kernel for operand in code.rule.operands for kernel in _kernels_for(operand, code.sharing))
    return list(dict.fromkeys(kernel.__name__ for kernel in kernels))


def _kernels_for(operand: Operand, sharing: Sharing) -> Kernels:
    match operand:
        case Words() | ChangedKeys():
            return _WORDS
        case RunsOf():
            return _RUNS
        case Sink(width=2):
            return *_PAIRS, _SETTLING[sharing]
        case _:
            return ()


def forms_of(kernel: Kernel[..., Any]) -> list[Form]:
    """The forms of what one of the kernels takes."""
    return [_FORMS.get(name, []) for name in signature(kernel.python).parameters]


def main() -> None:
    elsewhere.let_others_go_first()
    for source, forms, names in json.load(sys.stdin):
        for name in names:
            KERNELS[name].compile_for(forms_of(KERNELS[name]))
        compile_here(source, forms)


if __name__ == "__main__":
    main()
