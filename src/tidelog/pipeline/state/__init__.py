"""Takes commits to the tables of a pipeline, returns those tables at any version that is kept."""

from tidelog.pipeline.state.fingerprint import fingerprint
from tidelog.pipeline.state.opening import has_delta, last_version, open_state
from tidelog.pipeline.state.protocol import Changed, Commit, Replaced, StateStore, VersionInfo

__all__ = [
    "Changed",
    "Commit",
    "Replaced",
    "StateStore",
    "VersionInfo",
    "fingerprint",
    "has_delta",
    "last_version",
    "open_state",
]
