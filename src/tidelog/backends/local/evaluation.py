"""One run of a rule: what its steps read, and what happens to rows for which an expression has no value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tidelog.backends.local.batch import Batch, Missing, Problem, without
from tidelog.backends.local.store import Store
from tidelog.backends.protocol import Watch, unwatched
from tidelog.errors import EvaluationError
from tidelog.facts.membership import Rows
from tidelog.plan.nodes import RulePlan, Version
from tidelog.plan.parts import Part
from tidelog.schema import Kind

Survivors: TypeAlias = Callable[[Batch, tuple[Part, ...], "Evaluation"], Batch]


@dataclass(slots=True)
class Evaluation:
    """`survivors` gives the rows of a batch for which all decidable parts of the rest of a body hold.

    `keys` are names that rows without a value keep, or gain from those parts, besides what they have already.
    """

    store: Store
    rule: RulePlan
    survivors: Survivors
    watch: Watch = unwatched
    collects: bool = False
    keys: tuple[str, ...] = ()
    failures: list[tuple[Batch, Problem]] = field(default_factory=list)
    window: tuple[int, int] | None = None
    """The numbers of the rows that are the delta, where that are not those that came in the last round."""
    most_matches: int | None = None
    """How many matches of a row each join looks at, the oldest first, where some answers are enough."""

    def read(self, relation: str, version: Version) -> Rows:
        """The rows of that version of `relation`, oldest first."""
        if self.window is not None and version is Version.DELTA:
            return self.store.relations[relation].living(*self.window)
        return self.store.read(relation, version)

    @property
    def kinds(self) -> dict[str, Kind]:
        return self.rule.kinds  # type: ignore[return-value]

    def collecting(self, keys: tuple[str, ...]) -> Evaluation:
        """The same for the body of an aggregate: rows without a value are noted in `failures`, with their `keys`."""
        return Evaluation(self.store, self.rule, self.survivors, self.watch, collects=True, keys=keys)

    def complete(self) -> Evaluation:
        """The same for a part of which every row counts."""
        return self if self.most_matches is None else replace(self, most_matches=None)

    def set_aside(self, batch: Batch, missing: Missing, rest: tuple[Part, ...]) -> Batch:
        """The rows of `batch` for which the expression has a value; the others are taken as `fail` says."""
        self.fail(without(batch, ~missing.rows), rest, missing.problem)
        return without(batch, missing.rows)

    def fail(self, batch: Batch, rest: tuple[Part, ...], problem: Problem) -> None:
        """Takes rows for which an expression has no value.

        They matter only if the `rest` of the body holds for them as far as it can be decided without the expression:
        then it is an error, or a failure of the group that an aggregate is computed for.
        """
        if not batch.size:
            return
        left = self.survivors(batch, rest, self)
        if not left.size:
            return
        if self.collects:
            self.failures.append((left, problem))
        else:
            raise EvaluationError(f"{problem.reason}{self._example(left)} in the rule {self.rule.text}", problem.span)

    def _example(self, batch: Batch) -> str:
        """The values of the user's variables in the first row of `batch`."""
        values = self.store.values
        shown = [
            f"{name} = {values.decode(self.kinds[name], batch.column(name)[:1].copy())[0].as_py()!r}"
            for name in sorted(batch.names)
            if name.isidentifier() and name in self.kinds
        ]
        return f" for {', '.join(shown)}" if shown else ""
