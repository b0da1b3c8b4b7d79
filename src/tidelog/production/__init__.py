"""Rules that act: takes a checked program and facts, returns what its production rules do to them."""

from tidelog.production.cycle import run_rules
from tidelog.production.semantics import Fired, Firing, Result

__all__ = ["Fired", "Firing", "Result", "run_rules"]
