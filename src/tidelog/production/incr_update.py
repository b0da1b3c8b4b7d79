"""INCR_UPDATE: takes a run that has ended and late news, revises only what depends on it.

Wolfson, Dewan, Stolfo and Yemini 1991, section 3, with what the paper leaves out: news of the input is presence, not an
operation; what is different in an iteration stays different in the next ones until an operation settles it; the run
ends when nothing changes, later than before or sooner.

Where chains tell enough, `follow_chains` does it. Elsewhere the state is brought back to the iteration that the news is
about, by what the iterations changed. From there on the old run is followed, and at each iteration the derivations that
differences (NEW) end are undone, and those that they begin redone. Once there is no difference any more the rest is as
it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tidelog.backends.protocol import Facts
from tidelog.facts.change import Change
from tidelog.facts.columns import empty_table
from tidelog.language.syntax_tree import Sign
from tidelog.maintain.journal import Net
from tidelog.production.chain_records import from_iteration, negated, summed, tally
from tidelog.production.follow_chains import chains_tell, follow_chains
from tidelog.production.late_run import NOTHING_ASKED, Asked, LateRun, Nets, opposite, plus, then, together


def revise(run: LateRun, change: Change, at: int) -> Nets:
    """Makes `run` what it would be with this news from the start; how its last state differs from what it was.

    With `at` 0 the news is about the input. Otherwise it is one more operation for each fact in that cycle, which must
    be one of the run's. After an error `run` is of no use any more.
    """
    revision = Revision(run, max(at - 1, 0))
    if at:
        run.last_news = max(run.last_news, revision.first)
    run.may_have_timelines = chains_tell(run, change, at)
    if run.may_have_timelines:
        return follow_chains(run, change, at)
    run.shift(opposite(together(run.nets[revision.first :])))
    if at == 0:
        return revision.follow(_differences(run, change), NOTHING_ASKED)
    return revision.follow({}, _operations(run, change))


@dataclass
class Revision:
    """What is different so far in the iterations from `first` on."""

    run: LateRun
    first: int
    nets: list[Nets] = field(default_factory=list)
    derivations: list[Mapping[int, int]] = field(default_factory=list)
    records: dict[str, list[pa.Table]] = field(default_factory=dict)

    def follow(self, new: Nets, news: Asked) -> Nets:
        """Follows the old run from the state before `first`, in which `new` is different; what is at the end."""
        run, before = self.run, NOTHING_ASKED
        for number in range(self.first, run.cycles + 1):
            asked = run.move(new) if new else news
            self._note(number, asked, before)
            old = run.nets[number] if number < run.cycles else {}
            after = self._settle(number, new, asked)
            self.nets.append(self._revised(old, after))
            if number == run.cycles or (not self.nets[-1] and number > run.last_news):
                return self._end(number, new)
            run.shift(opposite(new))
            run.shift(old)
            new = {relation: self._difference(relation, *facts) for relation, facts in after.items()}
            new = {relation: net for relation, net in new.items() if net}
            before = asked
            if not new:
                self._note_counts(number + 1, {name: negated(counts) for name, counts in before.counts.items()})
                break
        return self._rejoin()

    def _settle(self, number: int, new: Nets, asked: Asked) -> dict[str, tuple[Facts, Facts, Facts]]:
        """Facts that may be different after an iteration: all, those there before it, and those there after it."""
        run = self.run
        found = {}
        for relation in dict.fromkeys((*new, *asked.counts)):
            chains = run.chains[relation]
            pieces = [new[relation].came, new[relation].went] if relation in new else []
            more = [asked.counts[relation]] if relation in asked.counts else []
            touched, *others = [*pieces, *map(chains.facts, more)]
            touched = touched.union(*others)
            counts = summed([chains.at(touched, number), *more], chains.keys)
            found[relation] = touched, run.backend.stored(relation, touched), run.settled(relation, touched, counts)
        return found

    def _revised(self, old: Nets, after: Mapping[str, tuple[Facts, Facts, Facts]]) -> Nets:
        """What the iteration changes now, where it changed `old`."""
        nets = dict(old)
        for relation, (touched, was_there, is_there) in after.items():
            net = Net(is_there.minus(was_there), was_there.minus(is_there))
            if relation in old:
                came, went = old[relation].came.minus(touched), old[relation].went.minus(touched)
                net = Net(came.union(net.came), went.union(net.went))
            nets[relation] = net
        return {relation: net for relation, net in nets.items() if net}

    def _difference(self, relation: str, touched: Facts, _was_there: Facts, is_there: Facts) -> Net:
        """What of `touched` is there now and is not in the old run, whose state is at hand, and the other way round."""
        there = self.run.backend.stored(relation, touched)
        return Net(is_there.minus(there), there.minus(is_there))

    def _note(self, number: int, asked: Asked, before: Asked) -> None:
        """Counts differ by `asked` from those of the old run, and differed by `before` in the iteration before."""
        self.derivations.append(plus(self.run.derivations[number], asked.derivations))
        self._note_counts(number, asked.counts)
        self._note_counts(number, {name: negated(counts) for name, counts in before.counts.items()})

    def _note_counts(self, number: int, counts: Mapping[str, pa.Table]) -> None:
        for relation, some in counts.items():
            self.records.setdefault(relation, []).append(from_iteration(some, number))

    def _rejoin(self) -> Nets:
        """The state is that of the old run again, and so is everything after it."""
        run = self.run
        end = self.first + len(self.nets)
        run.shift(together(run.nets[end:]))
        run.nets[self.first : end] = self.nets
        run.derivations[self.first : end] = self.derivations
        self._write()
        return {}

    def _end(self, number: int, new: Nets) -> Nets:
        """The old run has ended, or nothing changes any more: what comes now is found without it."""
        run = self.run
        difference = then(opposite(together(run.nets[number:])), new)
        if number < run.cycles:
            for chains in run.chains.values():
                chains.forget_after(number)
        pending = self.nets.pop()
        run.nets[self.first :] = self.nets
        run.derivations[self.first :] = self.derivations
        self._write()
        return then(difference, run.go_on(pending))

    def _write(self) -> None:
        for relation, pieces in self.records.items():
            self.run.chains[relation].add(pieces)


def _differences(run: LateRun, change: Change) -> Nets:
    """How news of the input makes the first state differ; a fact that is inserted and retracted is inserted."""
    backend = run.backend
    nets = {}
    for relation in dict.fromkeys((*change.inserted, *change.retracted)):
        inserted, retracted = _facts(run, relation, change)
        nets[relation] = Net(backend.unknown(relation, inserted), backend.stored(relation, retracted))
    return {relation: net for relation, net in nets.items() if net}


def _operations(run: LateRun, change: Change) -> Asked:
    """News of a cycle, as operations in it."""
    counts = {}
    for relation in dict.fromkeys((*change.inserted, *change.retracted)):
        keys = run.chains[relation].keys
        tables = [run.backend.table(relation, facts) for facts in _facts(run, relation, change)]
        signs = (Sign.INSERT, Sign.DELETE)
        pieces = [tally(rows, keys, sign, 1) for rows, sign in zip(tables, signs, strict=True)]
        counts[relation] = summed(pieces, keys)
    return Asked(counts, {})


def _facts(run: LateRun, relation: str, change: Change) -> tuple[Facts, Facts]:
    """What is inserted and what is retracted of `relation`."""
    tables = change.inserted.get(relation), change.retracted.get(relation)
    inserted, retracted = (
        run.backend.facts(relation, empty_table(run.schemas[relation]) if rows is None else rows) for rows in tables
    )
    return inserted, retracted.minus(inserted)
