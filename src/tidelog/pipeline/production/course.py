"""The iterations of one partition: takes what is known of operations and late mail, runs ahead and revises.

INCR_UPDATE in a rule handler (Wolfson, Dewan, Stolfo and Yemini 1991, section 7): mail about an iteration that the
partition has behind it undoes and redoes only what depends on it. The old iterations are followed with the difference
that the mail makes; behind them the partition goes on by itself, as far as it is told. What it finds out about facts
that are at home elsewhere is mail in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.backends.protocol import Facts
from tidelog.maintain.journal import Net
from tidelog.pipeline.production.handler import NOTHING_ASKED, Asked, Handler
from tidelog.pipeline.production.records import (
    ITERATION,
    Counts,
    Records,
    by_iteration,
    from_iteration,
    iterations,
    negated,
    summed,
    total,
)
from tidelog.production.late.nets import Nets, opposite, together


class Course:
    """What a partition has done: `nets[i]` is what its iteration i changed of the facts at home in it.

    `records` are those of facts at home here. `found` has what became known of the operations that instantiations of
    this partition ask for, wherever the facts are at home, `fired` has rules, iterations, and by how many the
    derivations differ from then on.
    """

    def __init__(self, handler: Handler, nets: Sequence[Nets], records: Records) -> None:
        self._handler = handler
        self.nets = list(nets)
        self.found: list[Records] = []
        self.fired: list[tuple[int, int, int]] = []
        self._pending: dict[int, list[Records]] = {}
        self._take_in([records])

    def begin(self) -> None:
        """Finds what the facts at the start ask for."""
        self._take_in([self._tell(0, self._handler.all_asked(), NOTHING_ASKED)])

    def take(self, mail: Records, horizon: int) -> bool:
        """Takes mail in, and goes on up to iteration `horizon`; whether nothing is left to do before more comes."""
        end = len(self.nets)
        first = min(iterations(mail), default=end)
        self._handler.shift(together(self.nets[:first]))
        self._take_in([mail, *(self._followed(first, mail) if first < end else [])])
        return self._go_on(horizon)

    def _followed(self, first: int, mail: Records) -> list[Records]:
        """Follows the iterations there were with what mail changes about them, to the state behind them.

        Returns what is different about the operations that are asked for here.
        """
        handler, end = self._handler, len(self.nets)
        letters = {relation: by_iteration(table) for relation, table in mail.items()}
        last = max(number for letter in letters.values() for number in letter)
        told: list[Records] = []
        new: Nets = {}
        before = NOTHING_ASKED
        news: Counts = {}
        for number in range(first, end):
            asked = handler.move(new) if new else NOTHING_ASKED
            told.append(self._tell(number, asked, before))
            before = asked
            news = total([news, {name: each[number] for name, each in letters.items() if number in each}])
            after = self._settle(number, new, total([news, handler.at_home(asked.counts)]))
            old, self.nets[number] = self.nets[number], _revised(self.nets[number], after)
            handler.shift(opposite(new))
            handler.shift(old)
            new = {relation: self._difference(relation, *facts) for relation, facts in after.items()}
            new = {relation: net for relation, net in new.items() if net}
            if not new and not news and number >= last:
                told.append(self._tell(number + 1, NOTHING_ASKED, before))
                handler.shift(together(self.nets[number + 1 :]))
                return told
        told.append(self._tell(end, handler.move(new) if new else NOTHING_ASKED, before))
        return told

    def _settle(self, number: int, new: Nets, different: Counts) -> dict[str, tuple[Facts, Facts, Facts]]:
        """Facts that may be different after an iteration: all, those there before it, and those there after it."""
        handler = self._handler
        found = {}
        for relation in dict.fromkeys((*new, *different)):
            chains = handler.chains[relation]
            pieces = [new[relation].came, new[relation].went] if relation in new else []
            more = [different[relation]] if relation in different else []
            touched, *others = [*pieces, *map(chains.facts, more)]
            touched = touched.union(*others)
            counts = summed([chains.at(touched, number), *more], chains.keys)
            was_there = handler.backend.stored(relation, touched)
            found[relation] = touched, was_there, handler.settled(relation, touched, counts)
        return found

    def _difference(self, relation: str, touched: Facts, _was_there: Facts, is_there: Facts) -> Net:
        """How what is there of `touched` differs from the state at hand, which is that of the old iterations."""
        there = self._handler.backend.stored(relation, touched)
        return Net(is_there.minus(there), there.minus(is_there))

    def _go_on(self, horizon: int) -> bool:
        """Goes on from the state after the last iteration."""
        while True:
            number = len(self.nets)
            nets = self._nets_at(number)
            if not nets and not any(later > number for later in self._pending):
                return True
            if number >= horizon:
                return False
            self.nets.append(nets)
            self._take_in([self._tell(number + 1, self._handler.move(nets), NOTHING_ASKED)])

    def _nets_at(self, number: int) -> Nets:
        """What an iteration changes, from the state before it; what is asked for in it is known."""
        handler = self._handler
        nets = {}
        pending = self._pending.get(number, [])
        for relation in dict.fromkeys(relation for records in pending for relation in records):
            chains = handler.chains[relation]
            tables = [records[relation] for records in pending if relation in records]
            touched = chains.facts(summed(tables, chains.keys))
            before = handler.backend.stored(relation, touched)
            after = handler.settled(relation, touched, chains.at(touched, number))
            nets[relation] = Net(after.minus(before), before.minus(after))
        return {relation: net for relation, net in nets.items() if net}

    def _tell(self, number: int, asked: Asked, before: Asked) -> Records:
        """From an iteration on counts differ by `asked`, where so far they differed by `before`."""
        handler = self._handler
        less = {relation: negated(counts) for relation, counts in before.counts.items()}
        records = {relation: from_iteration(counts, number) for relation, counts in total([asked.counts, less]).items()}
        self.found.append(records)
        for derivations, times in ((asked.derivations, 1), (before.derivations, -1)):
            self.fired += [(rule, number, times * count) for rule, count in derivations.items() if count]
        return handler.at_home(records)

    def _take_in(self, told: Sequence[Records]) -> None:
        """Adds records of facts at home here to the chains."""
        for relation, table in total(told, ITERATION).items():
            self._handler.chains[relation].add(table)
            for number, counts in by_iteration(table).items():
                if number >= len(self.nets):
                    self._pending.setdefault(number, []).append({relation: counts})


def _revised(old: Nets, after: Mapping[str, tuple[Facts, Facts, Facts]]) -> Nets:
    """What an iteration changes now, where it changed `old`."""
    nets = dict(old)
    for relation, (touched, was_there, is_there) in after.items():
        net = Net(is_there.minus(was_there), was_there.minus(is_there))
        if relation in old:
            came, went = old[relation].came.minus(touched), old[relation].went.minus(touched)
            net = Net(came.union(net.came), went.union(net.went))
        nets[relation] = net
    return {relation: net for relation, net in nets.items() if net}
