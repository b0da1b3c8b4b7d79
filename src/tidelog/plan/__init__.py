"""Takes a checked program, returns a plan: `lower`, then `optimize`; `order_joins` comes later, while it runs."""

from tidelog.plan.lower import lower
from tidelog.plan.nodes import Plan
from tidelog.plan.optimize import optimize
from tidelog.plan.printer import print_plan

__all__ = ["Plan", "lower", "optimize", "print_plan"]
