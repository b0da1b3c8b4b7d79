"""Takes a plan and a backend, returns nothing: afterwards the backend's tables hold everything that follows."""

from tidelog.maintain.materialize import materialize
from tidelog.maintain.protocol import SILENT, Limits, Observer

__all__ = ["SILENT", "Limits", "Observer", "materialize"]
