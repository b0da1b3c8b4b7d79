"""Rules over changing data: write Datalog rules, point at facts, get what follows from them.

program = tidelog.parse(text)
with tidelog.open(program) as db:
    db.insert("edge", [("a", "b"), ("b", "c")])
    db["path"].rows()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.errors import (
    Diagnostic,
    EvaluationError,
    InputError,
    LimitError,
    OscillationError,
    OutputError,
    ProgramError,
    TidelogError,
    UsageError,
)

if TYPE_CHECKING:
    from tidelog import spark as spark
    from tidelog.analysis.checked import CheckedProgram as CheckedProgram
    from tidelog.backends.protocol import RuleCost as RuleCost
    from tidelog.backends.protocol import Tier as Tier
    from tidelog.checking import check_program as check
    from tidelog.connectors.protocol import CSV as CSV
    from tidelog.connectors.protocol import Options as Options
    from tidelog.facts.chain import ChainRecord as ChainRecord
    from tidelog.language.embedded import anything as anything
    from tidelog.language.embedded import cast as cast
    from tidelog.language.embedded import count as count
    from tidelog.language.embedded import fn as fn
    from tidelog.language.embedded import max_ as max_
    from tidelog.language.embedded import mean as mean
    from tidelog.language.embedded import min_ as min_
    from tidelog.language.embedded import rules as rules
    from tidelog.language.embedded import sum_ as sum_
    from tidelog.language.embedded import unsigned as unsigned
    from tidelog.language.embedded import variables as variables
    from tidelog.language.parser import parse as parse
    from tidelog.language.parser import parse_file as parse_file
    from tidelog.language.printer import print_program as print_program
    from tidelog.language.syntax_tree import Program as Program
    from tidelog.maintain.protocol import Limits as Limits
    from tidelog.maintain.protocol import Maintenance as Maintenance
    from tidelog.maintain.protocol import Strategy as Strategy
    from tidelog.relation_view import RelationView as RelationView
    from tidelog.session import Session as Session
    from tidelog.session import open_session as open
    from tidelog.world.delta import Delta as Delta
    from tidelog.world.delta import RelationDelta as RelationDelta
    from tidelog.world.subscriptions import Subscription as Subscription
    from tidelog.world.watches import OnError as OnError
    from tidelog.world.watches import Watch as Watch
    from tidelog.world.watches import WatchMatch as WatchMatch
    from tidelog.world.worlds import Hypothetical as Hypothetical

__version__ = "0.1.0"

# Where each name lives; one without a name is a file. Loaded at first use: importing Arrow and NumPy takes longer than
# parsing a small program.
_HOMES = {
    "anything": ("tidelog.language.embedded", "anything"),
    "cast": ("tidelog.language.embedded", "cast"),
    "ChainRecord": ("tidelog.facts.chain", "ChainRecord"),
    "check": ("tidelog.checking", "check_program"),
    "CheckedProgram": ("tidelog.analysis.checked", "CheckedProgram"),
    "count": ("tidelog.language.embedded", "count"),
    "CSV": ("tidelog.connectors.protocol", "CSV"),
    "Delta": ("tidelog.world.delta", "Delta"),
    "fn": ("tidelog.language.embedded", "fn"),
    "Hypothetical": ("tidelog.world.worlds", "Hypothetical"),
    "Limits": ("tidelog.maintain.protocol", "Limits"),
    "Maintenance": ("tidelog.maintain.protocol", "Maintenance"),
    "Strategy": ("tidelog.maintain.protocol", "Strategy"),
    "max_": ("tidelog.language.embedded", "max_"),
    "mean": ("tidelog.language.embedded", "mean"),
    "min_": ("tidelog.language.embedded", "min_"),
    "OnError": ("tidelog.world.watches", "OnError"),
    "open": ("tidelog.session", "open_session"),
    "Options": ("tidelog.connectors.protocol", "Options"),
    "parse": ("tidelog.language.parser", "parse"),
    "parse_file": ("tidelog.language.parser", "parse_file"),
    "print_program": ("tidelog.language.printer", "print_program"),
    "Program": ("tidelog.language.syntax_tree", "Program"),
    "RelationDelta": ("tidelog.world.delta", "RelationDelta"),
    "RelationView": ("tidelog.relation_view", "RelationView"),
    "RuleCost": ("tidelog.backends.protocol", "RuleCost"),
    "rules": ("tidelog.language.embedded", "rules"),
    "Session": ("tidelog.session", "Session"),
    "spark": ("tidelog.spark", ""),
    "Subscription": ("tidelog.world.subscriptions", "Subscription"),
    "sum_": ("tidelog.language.embedded", "sum_"),
    "Tier": ("tidelog.backends.protocol", "Tier"),
    "unsigned": ("tidelog.language.embedded", "unsigned"),
    "variables": ("tidelog.language.embedded", "variables"),
    "Watch": ("tidelog.world.watches", "Watch"),
    "WatchMatch": ("tidelog.world.watches", "WatchMatch"),
}

__all__ = [
    "anything",
    "cast",
    "ChainRecord",
    "check",
    "CheckedProgram",
    "count",
    "CSV",
    "Delta",
    "Diagnostic",
    "EvaluationError",
    "fn",
    "Hypothetical",
    "InputError",
    "LimitError",
    "Limits",
    "Maintenance",
    "max_",
    "mean",
    "min_",
    "OnError",
    "open",
    "Options",
    "OscillationError",
    "OutputError",
    "parse",
    "parse_file",
    "print_program",
    "Program",
    "ProgramError",
    "RelationDelta",
    "RelationView",
    "RuleCost",
    "rules",
    "Session",
    "Strategy",
    "Subscription",
    "sum_",
    "TidelogError",
    "Tier",
    "unsigned",
    "UsageError",
    "variables",
    "Watch",
    "WatchMatch",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tidelog' has no attribute '{name}'")
    file, home_name = _HOMES[name]
    value = getattr(import_module(file), home_name) if home_name else import_module(file)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
