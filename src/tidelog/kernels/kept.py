"""Where compiled code is kept: one folder, named by the text of all kernels.

Numba does not notice that a kernel called by another one has changed, so any change makes another folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path


def cache_folder() -> Path:
    """The folder of these kernels: beside their text, or where that belongs to somebody else, in the user's cache;
    TIDELOG_CACHE_DIR says otherwise. Numba falls back to a folder of its own only if this cannot be made."""
    checks = os.environ.get("NUMBA_BOUNDSCHECK", "0").encode()
    fingerprint = hashlib.sha256(_texts() + checks).hexdigest()[:16]
    return _home() / f"kernels-{fingerprint}"


def users_cache() -> Path:
    """The folder that TIDELOG_CACHE_DIR names, or Tidelog's own where a user's programs keep such things."""
    if chosen := os.environ.get("TIDELOG_CACHE_DIR"):
        return Path(chosen)
    if home := os.environ.get("XDG_CACHE_HOME"):
        return Path(home) / "tidelog"
    try:
        own = Path.home()
    except RuntimeError:  # a user whom nobody knows, as in some containers
        return Path(tempfile.gettempdir()) / "tidelog"
    return own / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "tidelog"


def can_be_kept() -> bool:
    """Whether what is compiled can be left on disk."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_folder(), os.W_OK)


def _home() -> Path:
    beside = Path(__file__).parent / "__pycache__"
    if os.environ.get("TIDELOG_CACHE_DIR") or not os.access(beside if beside.exists() else beside.parent, os.W_OK):
        return users_cache()
    return beside


@cache
def _texts() -> bytes:
    """A number for the text of all kernels."""
    texts = (path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return hashlib.sha256(b"".join(texts)).digest()
