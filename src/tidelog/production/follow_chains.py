"""INCR_UPDATE by chains: late news is followed through the iterations without going back to their states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.backends.protocol import Facts
from tidelog.connectors.python_rows import rows_of, table_of_rows
from tidelog.facts.change import Change
from tidelog.maintain.journal import Net
from tidelog.production.chain_records import ADDED, DELETED, ITERATION
from tidelog.production.ever_there import EverThere
from tidelog.production.late_run import LateRun, Nets, opposite, plus, then, together
from tidelog.production.timelines import Flags, Numbers, Timelines
from tidelog.schema import Row


def chains_tell(run: LateRun, change: Change, at: int) -> bool:
    """Whether chains tell all that is needed; not any more once a cycle got news of what rules only read."""
    acted_on = {head.atom.relation for rule in run.rules for head in rule.heads}
    return run.may_have_timelines and (at == 0 or acted_on.issuperset((*change.inserted, *change.retracted)))


def follow_chains(run: LateRun, change: Change, at: int) -> Nets:
    """As `incr_update.revise`."""
    if run.ever_there is None:
        run.ever_there = EverThere(run.plans, run.schemas, run.backend)
        for nets in run.nets:
            run.ever_there.take(nets)
    return ChainRevision(run, run.ever_there, max(at - 1, 0)).follow(change, at)


class ChainRevision:
    """What is different so far, by numbers of facts."""

    def __init__(self, run: LateRun, ever: EverThere, first: int) -> None:
        self._run = run
        self._ever = ever
        self._first = first
        self._lines = Timelines(run, ever)
        self._expanded: set[int] = set()
        self._inserted_early: dict[str, Facts] = {}
        self._moves: list[tuple[Numbers, Flags, Flags]] = []
        self._derivations: list[Mapping[int, int]] = []
        self._records: list[tuple[int, Numbers, Numbers, Numbers]] = []

    def follow(self, change: Change, at: int) -> Nets:
        """Follows news through the iterations of the old run, and behind it."""
        run, lines = self._run, self._lines
        inserted, retracted = self._numbered(change)
        differs: Flags = np.zeros(len(lines.facts), np.bool_)
        if at == 0:
            differs[inserted] = ~lines.status[inserted, 0]
            differs[retracted] = lines.status[retracted, 0]
            self._insert_early(np.flatnonzero(differs & ~lines.status[:, 0]))
        differs = self._expand(differs)
        before_added = before_deleted = np.zeros(0, np.int64)
        for number in range(self._first, run.cycles + 1):
            added, deleted, derivations = lines.differences(number, differs)
            if at and number == self._first:
                added[inserted] += 1
                deleted[retracted] += 1
            self._note(number, added, deleted, before_added, before_deleted)
            self._derivations.append(plus(run.derivations[number], derivations))
            was, will = lines.status[:, number], lines.status[:, number + 1]
            now = was ^ differs
            is_added, is_deleted = lines.added[:, number] + added > 0, lines.deleted[:, number] + deleted > 0
            after = np.where(is_added != is_deleted, is_added, now)
            is_different = (now != was) | (after != will)
            moved = np.flatnonzero(is_different & ((now != after) | (was != will)))
            self._moves.append((moved, now[moved], after[moved]))
            old = run.nets[number] if number < run.cycles else {}
            size = sum(len(net.came) + len(net.went) for net in old.values())
            size += int(np.count_nonzero(now != after) - np.count_nonzero(was != will))
            if number == run.cycles or (size == 0 and number > run.last_news):
                return self._end(number, differs)
            before_added, before_deleted = added, deleted
            differs = self._expand(after ^ will)
            if not differs.any():
                nothing = np.zeros_like(added)
                self._note(number + 1, nothing, nothing, added, deleted)
                break
        self._write(number + 1)
        return {}

    def _numbered(self, change: Change) -> tuple[list[int], list[int]]:
        """The numbers of facts that are inserted, and of those that are retracted and not inserted."""
        inserted, retracted = (
            [number for relation, table in tables.items() for number in self._lines.number(relation, rows_of(table))]
            for tables in (change.inserted, change.retracted)
        )
        return list({*inserted}), list({*retracted} - {*inserted})

    def _insert_early(self, some: Numbers) -> None:
        """Stores facts that rules only read, so that derivations from several of them are found."""
        for relation, rows in self._by_relation(some).items():
            if relation not in self._ever.relations:
                facts = self._facts(relation, rows)
                self._run.backend.exchange(relation, facts, facts.none())
                self._inserted_early[relation] = facts

    def _expand(self, differs: Flags) -> Flags:
        """`differs`, for all facts that are met when those that differ for the first time are looked at."""
        new = {*np.flatnonzero(differs).tolist()} - self._expanded
        if new:
            self._expanded |= new
            self._lines.expand(sorted(new))
        return _padded(differs, len(self._lines.facts))

    def _note(self, number: int, added: Numbers, deleted: Numbers, *before: Numbers) -> None:
        more_added, more_deleted = (
            now - _padded(earlier, now.size) for now, earlier in zip((added, deleted), before, strict=True)
        )
        some = np.flatnonzero((more_added != 0) | (more_deleted != 0))
        if some.size:
            self._records.append((number, some, more_added[some], more_deleted[some]))

    def _end(self, number: int, differs: Flags) -> Nets:
        """The old run has ended, or nothing changes any more: what comes now is found without it."""
        run = self._run
        back = opposite(together(run.nets[number:]))
        new = self._nets(np.flatnonzero(differs), self._lines.status[:, number])
        run.shift(back)
        early = {name: Net(facts.none(), facts) for name, facts in self._inserted_early.items()}
        run.shift(early)
        run.shift(new)
        if number < run.cycles:
            for chains in run.chains.values():
                chains.forget_after(number)
        del run.nets[number + 1 :], run.derivations[number + 1 :]
        self._write(number + 1)
        pending = run.nets.pop()
        came = then(back, new)
        start = run.cycles
        came = then(came, run.go_on(pending))
        for nets in run.nets[start:]:
            self._ever.take(nets)
        return came

    def _nets(self, some: Numbers, status: Flags) -> Nets:
        """What comes and goes when these facts change their status."""
        came = self._by_relation(some[~status[some]])
        went = self._by_relation(some[status[some]])
        nets = {}
        for relation in dict.fromkeys((*came, *went)):
            nets[relation] = Net(
                self._facts(relation, came.get(relation, [])), self._facts(relation, went.get(relation, []))
            )
        return nets

    def _write(self, end: int) -> None:
        """Makes the run what was found out about its iterations before `end`."""
        run, first = self._run, self._first
        old = [*run.nets[first:end], {}]
        run.nets[first:end] = [self._revised(old[number], *moves) for number, moves in enumerate(self._moves)]
        run.derivations[first:end] = self._derivations
        pieces: dict[str, list[pa.Table]] = {}
        for number, some, added, deleted in self._records:
            for relation, places in self._places(some).items():
                rows = table_of_rows([self._lines.facts[each][1] for each in some[places]], run.schemas[relation])
                numbers = {ITERATION: np.full(len(places), number), ADDED: added[places], DELETED: deleted[places]}
                rows = rows.rename_columns(list(run.chains[relation].keys))
                columns = {name: rows[name] for name in rows.column_names} | {
                    name: pa.array(values) for name, values in numbers.items()
                }
                pieces.setdefault(relation, []).append(pa.table(columns))
        for relation, tables in pieces.items():
            run.chains[relation].add(tables)

    def _revised(self, old: Nets, moved: Numbers, now: Flags, after: Flags) -> Nets:
        """What an iteration changes now, where it changed `old`; `moved` are the facts where that is different."""
        if not moved.size:
            return old
        nets = dict(old)
        for relation, places in self._places(moved).items():
            rows = [self._lines.facts[each][1] for each in moved[places]]
            touched = self._facts(relation, rows)
            is_new, is_gone = after[places] & ~now[places], now[places] & ~after[places]
            came, went = (
                self._facts(relation, [row for row, is_so in zip(rows, flags, strict=True) if is_so])
                for flags in (is_new, is_gone)
            )
            if relation in old:
                came = came.union(old[relation].came.minus(touched))
                went = went.union(old[relation].went.minus(touched))
            nets[relation] = Net(came, went)
        return {relation: net for relation, net in nets.items() if net}

    def _places(self, some: Numbers) -> dict[str, list[int]]:
        """Where in `some` the facts of each relation are."""
        places: dict[str, list[int]] = {}
        for place, number in enumerate(some.tolist()):
            places.setdefault(self._lines.facts[number][0], []).append(place)
        return places

    def _by_relation(self, some: Numbers) -> dict[str, list[Row]]:
        rows: dict[str, list[Row]] = {}
        for number in some.tolist():
            relation, row = self._lines.facts[number]
            rows.setdefault(relation, []).append(row)
        return rows

    def _facts(self, relation: str, rows: Sequence[Row]) -> Facts:
        return self._run.backend.facts(relation, table_of_rows(rows, self._run.schemas[relation]))


def _padded(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """`values`, and 0 or False for more."""
    return np.concatenate([values, np.zeros(size - values.size, values.dtype)])
