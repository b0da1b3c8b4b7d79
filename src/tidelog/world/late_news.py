"""The last run of parallel production rules, as long as the facts are what it left: late news can revise it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy

from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.protocol import Backend, OwnRows
from tidelog.errors import UsageError
from tidelog.facts.chain import Chains
from tidelog.facts.change import Change
from tidelog.language.syntax_tree import Semantics
from tidelog.maintain.protocol import Limits
from tidelog.production.incr_update import revise
from tidelog.production.late_run import LateRun
from tidelog.production.semantics import Result
from tidelog.production.support import relations_needed, supporting


class LateNews:
    """What a run started from and the news that came since. Its chains are made when the first news comes."""

    def __init__(
        self,
        checked: CheckedProgram,
        given: Mapping[str, OwnRows],
        cycles: int,
        limits: Limits,
        new_backend: Callable[[], Backend],
    ) -> None:
        self._checked = checked
        self._given = given
        self._cycles = cycles
        self._limits = limits
        self._new_backend = new_backend
        self._news: tuple[tuple[Change, int], ...] = ()
        self._run: LateRun | None = None
        self._chains: Chains | None = None

    def revised(self, change: Change, at: int) -> tuple[Result, LateNews]:
        """What news of a cycle makes of the last state, without chains, and this with it. This one stays what it is."""
        self._check(change, at)
        run, self._run = self._run or self._from_start(), None
        nets = revise(run, change, at)
        came = {name: run.backend.table(name, net.came) for name, net in nets.items() if len(net.came)}
        went = {name: run.backend.table(name, net.went) for name, net in nets.items() if len(net.went)}
        other = copy(self)
        other._run, other._cycles, other._news = run, run.cycles, (*self._news, (change, at))
        other._chains = None
        return Result(run.cycles, came, went), other

    def history(self) -> Chains:
        """When each fact came and went; found out when somebody asks."""
        if self._chains is None:
            if self._run is None:
                self._run = self._from_start()
            self._chains = self._run.history()
        return self._chains

    def concerns(self, change: Change) -> bool:
        """Whether the facts are not what the run left after `change`, or may not be."""
        touched = {*change.inserted, *change.retracted}
        return not touched or bool(touched & relations_needed(self._checked))

    def _from_start(self) -> LateRun:
        run = LateRun(self._checked, self._new_backend(), self._given, self._limits)
        for change, at in self._news:
            revise(run, change, at)
        return run

    def _check(self, change: Change, at: int) -> None:
        if isinstance(at, bool) or not isinstance(at, int) or at < 0:
            raise UsageError(f"at must be the number of a cycle, or 0 for the facts at the start, not {at!r}")
        if at > self._cycles:
            raise UsageError(
                f"at={at} is beyond the last cycle: the run had {self._cycles}\n"
                "  hint: without at, the change is one of the facts as they are now; call run() to go on from there"
            )
        derived = {name for stratum in supporting(self._checked).strata for name in stratum.relations}
        for relation in (*change.inserted, *change.retracted):
            if relation in derived:
                raise UsageError(
                    f"'{relation}' is derived: no cycle inserts or deletes it\n  hint: give the facts it follows from"
                )
            if relation not in relations_needed(self._checked):
                raise UsageError(
                    f"no production rule has to do with '{relation}', so there is no cycle to change\n"
                    "  hint: apply it without at"
                )


def is_revisable(checked: CheckedProgram) -> bool:
    """Whether late news can revise runs of the program."""
    return checked.semantics is not None and checked.semantics.semantics is Semantics.PARALLEL
