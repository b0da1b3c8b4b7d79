"""Takes a program and facts, returns answers and keeps them true: the one object a user holds.

Facts given before the first read are only stored; the first read, or the first change whose effect is asked for,
derives everything. From then on each change brings the answers up to date before it returns.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import pyarrow as pa

from tidelog.activation.location import location_at
from tidelog.activation.watch_text import read_watch
from tidelog.analysis.checked import CheckedProgram
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.profile import Profile
from tidelog.backends.protocol import Backend, RuleCost, Tier
from tidelog.checking import check_outputs, check_program
from tidelog.connectors.directives import read_input, write_outputs
from tidelog.connectors.freed_memory import FREED_BY_LOADS
from tidelog.connectors.protocol import PLAIN, Options, open_source
from tidelog.connectors.python_rows import nullary
from tidelog.errors import UsageError
from tidelog.facts.change import Change, joined
from tidelog.language.embedded import RuleBuilder
from tidelog.language.parser import parse
from tidelog.language.syntax_tree import Directive, DirectiveKind, Program
from tidelog.maintain.protocol import SILENT, Limits, Maintenance, Observer
from tidelog.schema import Value
from tidelog.world.delta import Delta
from tidelog.world.history import History
from tidelog.world.model import Model, Step
from tidelog.world.subscriptions import Callback, Subscription, Subscriptions, tell_taken_back
from tidelog.world.watches import OnError, OnMatch, Watch, Watches
from tidelog.world.worlds import World

CHANGES_KEPT = 100


def open_session(
    program: Program | CheckedProgram | str,
    *,
    jobs: int = 1,
    tier: Tier = Tier.AUTO,
    profile: bool = False,
    limits: Limits = Limits(),  # noqa: B008  frozen
    observer: Observer = SILENT,
    maintenance: Maintenance = Maintenance(),  # noqa: B008  frozen
    history: int = CHANGES_KEPT,
) -> Session:
    """A session over `program`, given as text or parsed, on this machine with `jobs` threads, rules run as `tier` says.

    `profile` asks for the cost of each rule, `maintenance` says how answers are kept true, `history` how many changes
    can be undone.
    """
    if jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {jobs}")
    match program:
        case CheckedProgram():
            checked = program
        case Program():
            checked = check_program(program)
        case str():
            checked = check_program(parse(program))
        case RuleBuilder():
            raise UsageError("expected a program, found its builder: call .program() on it")
        case _:
            raise UsageError(f"expected a program or its text, found {type(program).__name__}")
    if not isinstance(maintenance, Maintenance):
        raise UsageError(f"maintenance must be a tidelog.Maintenance, not {maintenance!r}")
    if not isinstance(tier, Tier):
        raise UsageError(f"tier must be a tidelog.Tier, not {tier!r}")
    measured = Profile() if profile else None
    backend = LocalBackend(checked.schemas, jobs=jobs, tier=tier, profile=measured)
    return Session(
        checked, backend, limits=limits, observer=observer, maintenance=maintenance, history=history, profile=measured
    )


class Session(World):
    """A program, the facts given to it, and what follows from them. Also a context manager."""

    def __init__(
        self,
        checked: CheckedProgram,
        backend: Backend,
        *,
        limits: Limits,
        observer: Observer,
        maintenance: Maintenance,
        history: int,
        profile: Profile | None = None,
    ) -> None:
        super().__init__(Model(checked, backend, limits, observer, maintenance))
        self._model.current = self
        self._history = History(history)
        self._profile = profile
        self._subscriptions = Subscriptions()
        self._watches = Watches()

    def load(self, relation: str, path: str | Path, options: Options = PLAIN) -> int:
        """Adds the facts of a file, in the format its suffix names, and returns how many were new."""
        with FREED_BY_LOADS.freeing():
            return self.insert(relation, open_source(Path(path), options).read(self._schema(relation)))

    def load_inputs(self, folder: str | Path = ".") -> int:
        """Adds what the program's `.input` directives name, read from `folder`, and returns how many were new."""
        self._check_changeable()
        with FREED_BY_LOADS.freeing():
            return self._load_all(
                [
                    (relation, read_input(directive, self.schemas[relation], Path(folder), texts=self.program.texts))
                    for directive in self.program.inputs
                    for relation in directive.relations
                ]
            )

    def write_outputs(self, folder: str | Path = ".") -> None:
        """Writes what the program's `.output` and `.printsize` directives ask for, all of it or nothing."""
        self._check_readable()
        check_outputs(self.program, Path(folder))
        outputs = [
            (directive, self.schemas[relation], self._output(directive, relation))
            for directive in self.program.outputs
            for relation in directive.relations
        ]
        write_outputs(outputs, Path(folder), texts=self.program.texts)

    def materialize(self) -> None:
        """Computes every derived fact now instead of at the first read."""
        self._model.materialize()

    def profile(self) -> tuple[RuleCost, ...]:
        """What each rule has cost so far, the dearest first; the session was opened with `profile=True`."""
        if self._profile is None:
            raise UsageError("nothing was measured: open the session with tidelog.open(…, profile=True)")
        return self._profile.costs()

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Calls `callback` after each change that touches `relation`, with the rows that appeared and vanished.

        Everything is computed first, so that the callback hears of changes from now on. An error in a callback undoes
        the change. Callbacks may read the session, not change it.
        """
        self._schema(relation)
        if not callable(callback):
            raise UsageError(f"expected a function that takes a delta, found {type(callback).__name__}")
        self._model.materialize()
        return self._subscriptions.add(relation, callback)

    def watch(
        self, rule: str, on_match: OnMatch, *, on_error: OnError = OnError.STOP, location: Value | None = None
    ) -> Watch:
        """Calls `on_match` with each row of the head of `rule` that begins or ends, after the change it follows from.

        The rule reads relations of the program, derived ones too; its head needs no declaration. Everything is computed
        first, and what holds already does not begin. The change stays applied when a callback raises. With a
        `location`, literals of relations with a column marked `@` read the tuples that have this address there.
        """
        self._check_readable()
        if self._model.is_read_only or self._model.current is not self:
            raise UsageError(
                "a watch begins where facts are settled: make it before or after the what-if block, "
                "or after the change that a subscriber is told of"
            )
        if not isinstance(on_error, OnError):
            raise UsageError(f"on_error must be tidelog.OnError.STOP or tidelog.OnError.CONTINUE, not {on_error!r}")
        if not callable(on_match):
            raise UsageError(f"expected a function that takes a match, found {type(on_match).__name__}")
        if not isinstance(rule, str):
            raise UsageError(f"expected the text of a rule to watch, found {type(rule).__name__}")
        here = None if location is None else location_at(location, self.program)
        text = read_watch(rule, self.program, here)
        self._model.materialize()
        return self._watches.add(text, on_match, on_error, self.schemas, self._model.table)

    def undo(self) -> Delta:
        """What taking the last change back did. Each change after the first read is one step, that of rules too."""
        self._check_changeable()
        delta, _ = self._carry_out(self._history.to_undo().inverse())
        self._history.undone()
        self._watches.tell(delta)
        return delta

    def redo(self) -> Delta:
        """What making the change again that was undone last did."""
        self._check_changeable()
        delta, _ = self._carry_out(self._history.to_redo())
        self._history.redone()
        self._watches.tell(delta)
        return delta

    def close(self) -> None:
        """Forgets every fact; the session cannot be used any more."""
        if not self._model.is_closed:
            self._model.close("the session is closed: open a new one with tidelog.open")

    def __repr__(self) -> str:
        state = "closed" if self._model.is_closed else ", ".join(map(str, self.schemas.values()))
        return f"<tidelog session: {state}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_readable(self) -> None:
        self._model.check_open()

    def _commit(self, step: Step) -> Delta:
        delta, done = self._carry_out(step)
        self._history.add(done)
        self._watches.tell(delta)
        return delta

    def _carry_out(self, step: Step) -> tuple[Delta, Step]:
        """What `step` did, and what was done of it, once every subscriber has heard; nothing when one raises."""
        if step.before is not step.after:
            self._watches.check(step.after.schemas)
        done, outcome = self._model.take(step)
        delta = self._delta(step, outcome)
        told: list[Subscription] = []
        with self._model.read_only():
            try:
                self._subscriptions.tell(delta, told)
            except BaseException as reason:
                self._model.take_back(done)
                tell_taken_back(told, delta, reason)
                raise
        return delta, done

    def _load_all(self, read: list[tuple[str, pa.Table]]) -> int:
        """Adds the rows of several relations, as one change once there are answers; how many were new."""
        if self._model.is_materialized:
            relations = dict.fromkeys(relation for relation, _ in read)
            rows = {name: joined([table for relation, table in read if relation == name]) for name in relations}
            return self._apply(Change(inserted=rows)).counts.inserted
        new = 0
        while read:  # what is stored need not be kept here too
            new += self._model.load(*read.pop(0))
        return new

    def _output(self, directive: Directive, relation: str) -> pa.Table:
        """The rows that `directive` writes; to print a size, rows without columns are enough."""
        if directive.kind is DirectiveKind.PRINTSIZE:
            return nullary(self._model.count(relation))
        return self._model.table(relation)
