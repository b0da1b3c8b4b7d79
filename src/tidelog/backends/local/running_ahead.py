"""Rules that take up what they have derived themselves at once, instead of in the next round.

A rule that reads nothing of its stratum but its own head, once, may do so: whatever else it reads stays as it is. Each
row is still taken up once, and those that follow from it come behind it. A round of Python costs more than a hundred
rows, and deep recursion has thousands of rounds with a few rows each.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.backends.local.paths import FEW_ROWS, Path, Window
from tidelog.backends.local.store import Store
from tidelog.backends.protocol import Watch
from tidelog.plan.nodes import Node, RulePlan

_STEPS = 64
"""How many rounds a rule may be ahead of others, whose turn it is then; limits are looked at between rounds."""


class RunningAhead:
    """Remembers up to which row each plan has come. A rule with alternatives is several plans."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reached: dict[int, tuple[Node, int, int]] = {}
        self.rounds = 1

    def begin_round(self) -> None:
        """Counts anew how many rounds the rules of a round have run."""
        self.rounds = 1

    def has_rows(self, rule: RulePlan) -> bool:
        """Whether there may be rows that a rule has not taken up: the delta has those too that it took up ahead."""
        return not rule.ahead_below or self._first_row(rule) < self._store.relations[rule.head].stored

    def run(
        self, rule: RulePlan, derive_from: Callable[[Window], int], path: Path | None, watch: Watch,
        is_overtaken: Callable[[], bool],
    ) -> int:  # fmt: skip
        """Has a rule derive from the delta of its head and from what comes of that; how many rows it derived.

        Along a `path` it goes as long as few rows are new. It stops where it `is_overtaken` by a faster way to run it.
        """
        head = self._store.relations[rule.head]
        begin, end, derived, steps = self._first_row(rule), head.stored, 0, 0
        while begin < end and steps < _STEPS and (not steps or end - begin < rule.ahead_below):
            if steps and is_overtaken():
                break
            if path is not None and end - begin < FEW_ROWS:
                followed = path.follow((begin, end), min(FEW_ROWS, rule.ahead_below), _STEPS - steps)
                watch(rule, followed.derived)
                derived += followed.derived
                (begin, end), steps = followed.window, steps + followed.rounds
                if followed.rounds:
                    continue
            derived += derive_from((begin, end))
            head.settle()
            self._store.begin_era()
            begin, end, steps = end, head.count, steps + 1
        # The last step gave nothing new if it has come to the end.
        self.rounds = max(self.rounds, steps if begin < end else steps - 1)
        self._reached[id(rule.node)] = rule.node, head.generation, begin
        return derived

    def _first_row(self, rule: RulePlan) -> int:
        """The number of the first row of the delta of its head that a rule has not taken up."""
        head = self._store.relations[rule.head]
        node, generation, reached = self._reached.get(id(rule.node), (rule.node, head.generation, 0))
        is_known = node is rule.node and generation == head.generation
        return max(head.delta_start, reached if is_known else 0)
