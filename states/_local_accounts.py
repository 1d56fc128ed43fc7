"""The tools of libuser, which change only the accounts of this machine: for ``local: True``."""

from __future__ import annotations

import shutil

from asyncstate import filesystem


def missing_tool(program: str, *, local: bool) -> str:
    """Return the error of a run for ``local`` where libuser is missing; BusyBox's tools make no difference."""
    missing = local and filesystem.judges() and shutil.which(program) and not shutil.which(f"l{program}")
    return f"Command 'l{program}' cannot be found" if missing else ""
