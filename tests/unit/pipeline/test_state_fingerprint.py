"""The fingerprint of a program stays the same over what does not change its answers, and only over that."""

from __future__ import annotations

import pytest

from tidelog.analysis.check import check
from tidelog.language.parser import parse
from tidelog.pipeline.state import fingerprint

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
"""


def of(text: str) -> str:
    return fingerprint(check(parse(text)))


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("edge(x, y).", "edge( x,\n  y ) .  // the edges"),
        (".output path", ""),
        (".input edge", '.input edge(filename="e.csv")'),
        ("edge(y, z).", "edge(y, z).\n.plan 0:(2,1)"),
        (".input edge\n.decl path(x: number, y: number)", ".decl path(x: number, y: number)\n.input edge"),
    ],
)
def test_it_stays(written: str, instead: str) -> None:
    assert of(PROGRAM.replace(written, instead, 1)) == of(PROGRAM)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("path(x, y), edge(y, z)", "edge(x, y), path(y, z)"),
        ("path(x, y), edge(y, z)", "path(x, y), edge(y, z), x != z"),
        ("edge(x: number, y: number)", "edge(x: number, w: number)"),
        (".output path", "edge(1, 2)."),
        (".output path", ".limitsize path(n=5)"),
        ("number", "unsigned"),
    ],
)
def test_it_changes(written: str, instead: str) -> None:
    assert of(PROGRAM.replace(written, instead)) != of(PROGRAM)


LAMPS = """
.production set
.decl wanted(x: number)
.decl lit(x: number)
+lit(x) :- wanted(x).
-lit(x) :- lit(x), !wanted(x).
"""


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (".production set", ".production parallel"),
        ("!wanted(x).", "!wanted(x). [priority 1]"),
        ("-lit(x) :-", "+lit(x) :-"),
        (
            "+lit(x) :- wanted(x).\n-lit(x) :- lit(x), !wanted(x).",
            "-lit(x) :- lit(x), !wanted(x).\n+lit(x) :- wanted(x).",
        ),
    ],
)
def test_it_changes_with_what_production_rules_do(written: str, instead: str) -> None:
    assert of(LAMPS.replace(written, instead)) != of(LAMPS)
