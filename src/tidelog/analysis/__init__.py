"""Takes a parsed program, returns a checked one: simple typed rules in strata, or every mistake at once."""

from tidelog.analysis.check import check
from tidelog.analysis.checked import CheckedProgram, ClosureGroup, ClosureKind, SimpleRule, Stratum

__all__ = ["CheckedProgram", "ClosureGroup", "ClosureKind", "SimpleRule", "Stratum", "check"]
