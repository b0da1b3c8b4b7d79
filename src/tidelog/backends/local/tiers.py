"""Which rules run by generated code, and when it is compiled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from subprocess import Popen
from time import monotonic
from typing import TypeAlias

from tidelog.backends.local.compiling import compile_elsewhere
from tidelog.backends.local.pushing import PushedCode, StoreSurroundings, code_of
from tidelog.backends.local.store import Store
from tidelog.backends.protocol import Tier
from tidelog.codegen.operands import NotPushed
from tidelog.codegen.push_rule import Sharing
from tidelog.kernels import jit
from tidelog.kernels.generated import compile_here, is_on_disk
from tidelog.plan.nodes import Node, RulePlan
from tidelog.plan.walk import relations_read

WORTH_COMPILING = 0.5
"""Seconds that a rule has taken as batches when its code is compiled."""

WORTH_LOADING = 0.02
"""Seconds after which code is loaded that was compiled before."""

PATIENCE_WITH_CHANGES = 0.1
"""How much of these times a plan may take that a change is followed by: somebody waits for the change, and the next one
asks the same."""

BETWEEN_LOOKS = 0.1
"""Seconds between two looks at what has been compiled meanwhile."""


Write: TypeAlias = Callable[[RulePlan, StoreSurroundings, Sharing], PushedCode | NotPushed]


@dataclass(slots=True)
class Candidate:
    """A plan that may run by generated code; `is_ready` once it is compiled, `is_waiting` until then if it will be."""

    node: Node
    surroundings: StoreSurroundings
    code: PushedCode | NotPushed
    is_ready: bool = False
    is_waiting: bool = False
    next_look: float = 0.0
    """Seconds spent as batches after which the disk is looked at again."""


class Tiers:
    """Decides for each plan of a rule, whose code `write` gives. One other process at a time compiles it."""

    def __init__(self, store: Store, tier: Tier, sharing: Sharing, write: Write = code_of) -> None:
        self._store = store
        self._tier = tier
        self._sharing = sharing
        self._write = write
        self._candidates: dict[int, Candidate] = {}
        self._spent: dict[tuple[int, float], float] = defaultdict(float)
        self._waiting: list[Candidate] = []
        self._compiling: tuple[Popen[str], list[Candidate]] | None = None
        self._renewing: set[str] = set()
        self._next_look = 0.0

    def code(self, rule: RulePlan) -> PushedCode | None:
        """The code by which a rule is to be run now, None if it runs as batches."""
        if self._tier is Tier.VECTORISED:
            return None
        if self._tier is Tier.PUSH:
            candidate = self._candidate(rule)
            candidate.is_ready = True
        else:
            self._look_after_compiler()
            known = self._candidates.get(id(rule.node))
            if known is None or known.node is not rule.node:
                return None
            candidate = self._renewed(rule, known) if known.is_ready and not known.surroundings.are_as_told() else known
        return candidate.code if candidate.is_ready and isinstance(candidate.code, PushedCode) else None

    def note(self, rule: RulePlan, seconds: float, patience: float = 1.0) -> None:
        """Notes that a rule has run as batches for so long; the less `patience`, the sooner it has code."""
        if self._tier is not Tier.AUTO or not jit.is_compiled():
            return
        self._spent[rule.id, patience] += seconds
        spent = self._spent[rule.id, patience]
        if spent < patience * WORTH_LOADING:
            return
        candidate = self._candidate(rule)
        if candidate.is_ready or isinstance(candidate.code, NotPushed) or candidate.is_waiting:
            return
        if spent < candidate.next_look:
            return
        candidate.next_look = min(2 * spent, patience * WORTH_COMPILING)
        pushed = candidate.code.rule
        if is_on_disk(pushed.source, pushed.forms):
            compile_here(pushed.source, pushed.forms)
            candidate.is_ready = True
        elif spent >= patience * WORTH_COMPILING:
            self._wait(candidate)
            self._look_after_compiler()

    def why_not(self, rule: RulePlan) -> str | None:
        """Why a rule has no code, if that was asked."""
        known = self._candidates.get(id(rule.node))
        return known.code.reason if known is not None and isinstance(known.code, NotPushed) else None

    def _candidate(self, rule: RulePlan) -> Candidate:
        known = self._candidates.get(id(rule.node))
        if known is None or known.node is not rule.node or not known.surroundings.are_as_told():
            known = self._candidates[id(rule.node)] = self._written(rule)
        return known

    def _written(self, rule: RulePlan) -> Candidate:
        with jit.writing_code():
            surroundings = StoreSurroundings(self._store, {rule.head, *relations_read(rule.node)})
            return Candidate(rule.node, surroundings, self._write(rule, surroundings, self._sharing))

    def _renewed(self, rule: RulePlan, stale: Candidate) -> Candidate:
        """The code that would be written now, once it is compiled; until then what was written before, which gives the
        same rows."""
        fresh = self._written(rule)
        if isinstance(fresh.code, PushedCode):
            pushed = fresh.code.rule
            if is_on_disk(pushed.source, pushed.forms):
                compile_here(pushed.source, pushed.forms)
                fresh.is_ready = True
                self._candidates[id(rule.node)] = fresh
                return fresh
            if pushed.source not in self._renewing:
                self._renewing.add(pushed.source)
                self._wait(fresh)
        return stale

    def _wait(self, candidate: Candidate) -> None:
        candidate.is_waiting = True
        self._waiting.append(candidate)

    def _look_after_compiler(self) -> None:
        """Takes over what has been compiled, and has what waits compiled next."""
        if self._compiling is not None and monotonic() >= self._next_look:
            process, candidates = self._compiling
            has_ended = process.poll() is not None
            left = [candidate for candidate in candidates if not self._take_over(candidate, has_ended=has_ended)]
            self._compiling = None if has_ended else (process, left)
            self._next_look = monotonic() + BETWEEN_LOOKS
        if self._compiling is None and self._waiting:
            batch, self._waiting = self._waiting, []
            codes = [each.code for each in batch if isinstance(each.code, PushedCode)]
            self._compiling = compile_elsewhere(codes), batch

    def _take_over(self, candidate: Candidate, *, has_ended: bool) -> bool:
        """Whether a candidate is ready now, or will never be because the compiler has ended."""
        code = candidate.code
        if isinstance(code, PushedCode):
            if is_on_disk(code.rule.source, code.rule.forms):
                compile_here(code.rule.source, code.rule.forms)
                candidate.is_ready = True
            elif has_ended:
                candidate.code = NotPushed("its code could not be compiled and kept on disk")
        return candidate.is_ready or has_ended
