"""The tools of libuser, for ``local: True``: they change only the accounts of this machine."""

from __future__ import annotations

import shutil

from asyncstate import filesystem


def missing_tool(program: str, *, local: bool) -> str:
    """Return the error of ``local`` in a run if libuser is missing; BusyBox's tools ignore ``local``."""
    missing = local and filesystem.judges() and shutil.which(program) and not shutil.which(f"l{program}")
    return f"Command 'l{program}' cannot be found" if missing else ""
