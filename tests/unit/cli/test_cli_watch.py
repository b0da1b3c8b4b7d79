"""`tidelog watch`: lines in, matches out."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tidelog.cli.main import main

PROGRAM = """\
.decl near(x: number, z: number)
.input near
.decl use(x: number, z: number)
.decl request(z: number, y: symbol)
.decl can(x: number, y: symbol)
can(x, y) :- near(x, z), use(x, z), request(z, y).
.output can
"""
DERIVED = """\
.decl link(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
.decl many(n: number)
many(n) :- n = count : { path(_, _) }, n > 2.
.output path, many
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("can.dl").write_text(PROGRAM)
    Path("path.dl").write_text(DERIVED)
    Path("near.facts").write_text("1\t2\n")


def watch(monkeypatch: pytest.MonkeyPatch, program: str, lines: str, *options: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    return main(["watch", program, "--stdin", *options])


@pytest.mark.parametrize("batch", ["1", "2", "100"])
def test_matches_come_out_as_they_begin_and_end(monkeypatch, capsys, batch):
    lines = (
        '+use(1, 2).\n+request(2, "a").\n\n// a comment\n+request(2, "b").\n-near(1, 2).\n-near(1, 2).\n+near(1, 2).\n'
    )
    assert watch(monkeypatch, "can.dl", lines, "--batch", batch) == 0
    printed = capsys.readouterr()
    out = printed.out.splitlines()
    assert out[:2] == ['+can(1, "a").', '+can(1, "b").']
    assert sorted(out[2:4]) == ['-can(1, "a").', '-can(1, "b").']
    assert sorted(out[4:]) == ['+can(1, "a").', '+can(1, "b").']
    assert printed.err == ""


def test_rules_that_feed_rules_and_recursive_ones_are_derived_first(monkeypatch, capsys):
    assert watch(monkeypatch, "path.dl", "+link(1, 2).\n+link(2, 3).\n-link(1, 2).\n") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "+path(1, 2)."
    assert sorted(out[1:4]) == ["+many(3).", "+path(1, 3).", "+path(2, 3)."]
    assert sorted(out[4:]) == ["-many(3).", "-path(1, 2).", "-path(1, 3)."]


@pytest.mark.parametrize(("kind", "one", "two"), [("symbol", "n1", "n2"), ("number", "1", "2"), ("float", "1.5", "2")])
def test_at_a_location_only_what_is_stored_there_is_read(monkeypatch, capsys, kind, one, two):
    Path("route.dl").write_text(
        f".decl link(x: number, @a: {kind})\n.decl path(@a: {kind}, y: number)\n.decl route(x: number, y: number)\n"
        "route(x, y) :- link(x, a), path(a, y).\n.output route\n"
    )
    first, second = (f'"{place}"' if kind == "symbol" else place for place in (one, two))
    lines = f"+link(1, {first}).\n+link(2, {second}).\n+path({second}, 7).\n+path({first}, 8).\n"
    assert watch(monkeypatch, "route.dl", lines, "--location", one) == 0
    assert capsys.readouterr().out == "+route(1, 8).\n"
    assert watch(monkeypatch, "route.dl", lines) == 0
    assert capsys.readouterr().out == "+route(2, 7).\n+route(1, 8).\n"


def test_a_location_that_no_column_can_hold_is_named(monkeypatch, capsys):
    Path("place.dl").write_text(".decl a(@x: number)\n.decl q(x: number)\nq(x) :- a(x).\n.output q\n")
    assert watch(monkeypatch, "place.dl", "", "--location", "n1") != 0
    assert "a location is of type number, not 'n1'" in capsys.readouterr().err


def test_statistics_say_what_each_rule_did(monkeypatch, capsys):
    assert watch(monkeypatch, "can.dl", '+use(1, 2).\n+request(2, "a").\n', "--stats") == 0
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "arrivals\teffective\tbegun\tended\tdummies\tsearches\tentries\ttuples\trule",
        "2\t1\t1\t0\t0\t0\t10\t2\tcan(x, y) :- near(x, z), use(x, z), request(z, y).",
    ]


def test_a_line_that_cannot_be_read_is_named(monkeypatch, capsys):
    assert watch(monkeypatch, "can.dl", '+use(1, 2).\n+use(1, "x").\n', "--batch", "9") == 3
    assert "error: <stdin>:2:9: " in capsys.readouterr().err
    assert main(["watch", "-", "--stdin"]) == 2
    assert "give the program as a file" in capsys.readouterr().err


def test_rows_given_to_an_output_begin_and_end_as_derived_ones_do(monkeypatch, capsys):
    Path("given.dl").write_text(PROGRAM + 'can(1, "held").\n')
    lines = '+can(7, "g").\n+use(1, 2).\n+request(2, "held").\n-can(1, "held").\n-use(1, 2).\n-can(7, "g").\n'
    assert watch(monkeypatch, "given.dl", lines, "--stats") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == ['+can(7, "g").', '-can(1, "held").', '-can(7, "g").']
    assert [line.split("\t")[-1] for line in out[4:6]] == [
        "can(x, y) :- near(x, z), use(x, z), request(z, y).",
        "can(v0, v1) :- can(v0, v1).",
    ]


def test_a_rule_of_two_heads_feeds_what_reads_the_other(monkeypatch, capsys):
    Path("heads.dl").write_text(
        ".decl a(x: number) .decl b(x: number) .decl c(x: number) .decl d(x: number)\n"
        "b(x), c(x) :- a(x).\nd(x) :- c(x), x > 1.\n.output b, d\n"
    )
    assert watch(monkeypatch, "heads.dl", "+a(1).\n+a(2).\n-a(2).\n") == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ["+b(1).", "+b(2).", "+d(2).", "-b(2).", "-d(2)."]


def test_production_rules_are_not_watched(monkeypatch, capsys):
    Path("acts.production").write_text(".decl a(x: number) .decl b(x: number)\n+b(x) :- a(x).\n.output b\n")
    assert watch(monkeypatch, "acts.production", "+a(1).\n") == 2
    assert "fires no production rules" in capsys.readouterr().err
