"""Rules that act: takes a checked program and facts, returns what its production rules do to them."""

from tidelog.production.cycle import run_rules
from tidelog.production.firing import Fired, Firing
from tidelog.production.semantics import Result

__all__ = ["Fired", "Firing", "Result", "run_rules"]
