"""The problems as rules of durable_rules. A lower number goes first.

A rule that waits is not withdrawn when what its `none` excludes arrives, so that stages come one after the other, and
points with three edges are found before corners are. A `none` that several facts deny holds as soon as one of them is
retracted; nothing here goes round that, so that Waltz strikes out too much. (Counting how often a label is said instead
was tried: then matches were missed, and too little was struck out.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from durable.lang import c, m, none, pri, ruleset, when_all

from benchmarks.rivals.problems import Row


def state_channels(name: str, found: set[Row]) -> str:
    """The name of rules that put each match of UC into `found`."""
    with ruleset(name):

        @when_all(
            c.near << (m.kind == "near"),
            c.use << (m.kind == "use") & (m.x == c.near.x) & (m.z == c.near.z),
            c.request << (m.kind == "request") & (m.z == c.near.z),
        )
        def can_use(c: Any) -> None:
            found.add((c.near.x, c.request.y))

    return name


def state_manners(name: str) -> str:
    """The name of rules that seat parties whose phase is `start`."""
    with ruleset(name):

        @when_all(
            pri(1),
            c.phase << (m.kind == "phase") & (m.step == "start"),
            c.guest << (m.kind == "guest") & (m.party == c.phase.party),
        )
        def first_seat(c: Any) -> None:
            party, guest = c.phase.party, c.guest.name
            c.retract_fact(c.phase)
            c.assert_fact(fact("seating", party=party, seating=1, parent=0, guest=guest, seat=1))
            c.assert_fact(fact("path", party=party, seating=1, guest=guest, seat=1))
            c.assert_fact(fact("phase", party=party, step="seat", at=1, newest=1))

        @when_all(
            pri(1),
            c.phase << (m.kind == "phase") & (m.step == "seat"),
            c.seating << (m.kind == "seating") & (m.party == c.phase.party) & (m.seating == c.phase.at),
            c.left << (m.kind == "guest") & (m.party == c.phase.party) & (m.name == c.seating.guest),
            c.right << (m.kind == "guest")
            & (m.party == c.phase.party)
            & (m.hobby == c.left.hobby)
            & (m.sex != c.left.sex),
            none(
                (m.kind == "path") & (m.party == c.phase.party) & (m.seating == c.phase.at) & (m.guest == c.right.name)
            ),
            none(
                (m.kind == "seating")
                & (m.party == c.phase.party)
                & (m.parent == c.phase.at)
                & (m.guest == c.right.name)
            ),
        )
        def find_seat(c: Any) -> None:
            party, parent, guest, seat, new = (
                *(c.phase.party, c.phase.at, c.right.name, c.seating.seat + 1, c.phase.newest + 1),
            )
            c.retract_fact(c.phase)
            c.assert_fact(fact("seating", party=party, seating=new, parent=parent, guest=guest, seat=seat))
            c.assert_fact(fact("path", party=party, seating=new, guest=guest, seat=seat))
            c.assert_fact(fact("phase", party=party, step="copy", at=new, newest=new))

        @when_all(
            pri(1),
            c.phase << (m.kind == "phase") & (m.step == "copy"),
            c.seating << (m.kind == "seating") & (m.party == c.phase.party) & (m.seating == c.phase.at),
            c.path << (m.kind == "path") & (m.party == c.phase.party) & (m.seating == c.seating.parent),
        )
        def copy_path(c: Any) -> None:
            path = c.path
            c.assert_fact(fact("path", party=path.party, seating=c.phase.at, guest=path.guest, seat=path.seat))

        @when_all(pri(2), c.phase << (m.kind == "phase") & (m.step == "copy"))
        def path_copied(c: Any) -> None:
            party, at, newest = c.phase.party, c.phase.at, c.phase.newest
            c.retract_fact(c.phase)
            c.assert_fact(fact("phase", party=party, step="seat", at=at, newest=newest))

        @when_all(
            pri(2),
            c.phase << (m.kind == "phase") & (m.step == "seat"),
            c.seats << (m.kind == "seats") & (m.party == c.phase.party),
            c.seating << (m.kind == "seating")
            & (m.party == c.phase.party)
            & (m.seating == c.phase.at)
            & (m.parent > 0)
            & (m.seat < c.seats.number),
        )
        def go_back(c: Any) -> None:
            party, parent, newest = c.phase.party, c.seating.parent, c.phase.newest
            c.retract_fact(c.phase)
            c.assert_fact(fact("phase", party=party, step="seat", at=parent, newest=newest))

    return name


def state_waltz(name: str) -> str:
    """The name of rules that label lines from the stage `edges` on."""
    with ruleset(name):
        _state_junctions()
        _state_labels()
        for step, following in (("edges", "corners"), ("corners", "labels"), ("labels", "strike")):
            when_all(pri(9), c.stage << (m.kind == "stage") & (m.step == step))(_going_on_to(following))
    return name


def _state_junctions() -> None:
    @when_all(
        pri(1),
        c.stage << (m.kind == "stage") & (m.step == "edges"),
        c.line << (m.kind == "line"),
        c.back << (m.kind == "back") & (m.direction == c.line.direction),
    )
    def make_edges(c: Any) -> None:
        start, end, direction, other = c.line.start, c.line.end, c.line.direction, c.back.other
        c.retract_fact(c.line)
        c.assert_fact(fact("edge", start=start, end=end, direction=direction))
        c.assert_fact(fact("edge", start=end, end=start, direction=other))

    @when_all(
        pri(2),
        c.a << (m.kind == "edge"),
        c.b << (m.kind == "edge") & (m.start == c.a.start),
        c.ab << (m.kind == "left") & (m.direction == c.a.direction) & (m.other == c.b.direction),
        c.c << (m.kind == "edge") & (m.start == c.a.start),
        c.bc << (m.kind == "left") & (m.direction == c.b.direction) & (m.other == c.c.direction),
        c.ac << (m.kind == "left") & (m.direction == c.a.direction) & (m.other == c.c.direction),
    )
    def arrows(c: Any) -> None:
        _junction(c, "arrow", c.c.end)

    @when_all(
        pri(2),
        c.a << (m.kind == "edge"),
        c.b << (m.kind == "edge") & (m.start == c.a.start) & (m.end > c.a.end),
        c.ab << (m.kind == "left") & (m.direction == c.a.direction) & (m.other == c.b.direction),
        c.c << (m.kind == "edge") & (m.start == c.a.start) & (m.end > c.a.end),
        c.bc << (m.kind == "left") & (m.direction == c.b.direction) & (m.other == c.c.direction),
        c.ca << (m.kind == "left") & (m.direction == c.c.direction) & (m.other == c.a.direction),
    )
    def forks(c: Any) -> None:
        _junction(c, "fork", c.c.end)

    @when_all(
        pri(2),
        c.a << (m.kind == "edge"),
        c.back << (m.kind == "back") & (m.direction == c.a.direction),
        c.c << (m.kind == "edge") & (m.start == c.a.start) & (m.direction == c.back.other),
        c.b << (m.kind == "edge") & (m.start == c.a.start),
        c.ab << (m.kind == "left") & (m.direction == c.a.direction) & (m.other == c.b.direction),
    )
    def tees(c: Any) -> None:
        _junction(c, "tee", c.c.end)

    @when_all(
        pri(2),
        c.a << (m.kind == "edge"),
        c.b << (m.kind == "edge") & (m.start == c.a.start) & (m.end > c.a.end),
        c.c << (m.kind == "edge") & (m.start == c.a.start) & (m.end > c.b.end),
    )
    def three_edges(c: Any) -> None:
        c.assert_fact(fact("three", point=c.a.start))

    @when_all(
        pri(3),
        c.stage << (m.kind == "stage") & (m.step == "corners"),
        c.a << (m.kind == "edge"),
        c.b << (m.kind == "edge") & (m.start == c.a.start),
        c.ab << (m.kind == "left") & (m.direction == c.a.direction) & (m.other == c.b.direction),
        none((m.kind == "three") & (m.point == c.a.start)),
    )
    def corners(c: Any) -> None:
        _junction(c, "L", 0)


def _state_labels() -> None:
    @when_all(
        pri(4),
        c.stage << (m.kind == "stage") & (m.step == "labels"),
        c.junction << (m.kind == "junction"),
        c.form << (m.kind == "form") & (m.junction == c.junction.type),
    )
    def labels(c: Any) -> None:
        for place in ("first", "second", "third"):
            end, label = getattr(c.junction, place), getattr(c.form, place)
            if label:
                c.assert_fact(fact("may", start=c.junction.point, end=end, form=c.form.number, label=label))

    @when_all(
        pri(5),
        c.stage << (m.kind == "stage") & (m.step == "strike"),
        c.known << (m.kind == "known"),
        c.may << (m.kind == "may") & (m.start == c.known.start) & (m.end == c.known.end) & (m.label != c.known.label),
    )
    def agree_with_known(c: Any) -> None:
        c.assert_fact(fact("struck", start=c.may.start, form=c.may.form))

    @when_all(
        pri(6),
        c.stage << (m.kind == "stage") & (m.step == "strike"),
        c.may << (m.kind == "may"),
        c.opposite << (m.kind == "opposite") & (m.label == c.may.label),
        none((m.kind == "may") & (m.start == c.may.end) & (m.end == c.may.start) & (m.label == c.opposite.other)),
    )
    def agree_with_other_end(c: Any) -> None:
        c.assert_fact(fact("struck", start=c.may.start, form=c.may.form))

    @when_all(
        pri(4),
        c.struck << (m.kind == "struck"),
        c.may << (m.kind == "may") & (m.start == c.struck.start) & (m.form == c.struck.form),
    )
    def strike_out(c: Any) -> None:
        c.retract_fact(c.may)


def _junction(c: Any, kind: str, third: int) -> None:
    c.assert_fact(fact("junction", point=c.a.start, type=kind, first=c.a.end, second=c.b.end, third=third))


def fact(kind: str, **properties: int | str) -> dict[str, int | str]:
    """A fact as durable_rules takes it: one property says of which relation."""
    return {"kind": kind, **properties}


def _going_on_to(stage: str) -> Callable[[Any], None]:
    def go_on(c: Any) -> None:
        c.retract_fact(c.stage)
        c.assert_fact(fact("stage", step=stage))

    go_on.__name__ = f"go_on_to_{stage}"
    return go_on
