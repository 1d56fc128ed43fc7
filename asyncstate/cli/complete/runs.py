"""The runs in a journal, without opening it as the engine does: only what a list of them shows."""

from __future__ import annotations

import os
import time

_MOST = 500
"""The newest runs that are offered."""


def runs_in(state_dir: str) -> dict[str, str]:
    """Return the IDs of runs, newest first, and when each began; runs under way and killed ones come first."""
    begun: dict[str, float] = {}
    try:
        with os.scandir(os.path.join(state_dir, "journal")) as files:
            for file in files:
                run, suffix = os.path.splitext(file.name)
                if suffix == ".ended":  # its time is when the run began
                    begun[run] = file.stat(follow_symlinks=False).st_mtime
                elif suffix == ".log":
                    begun[run] = file.stat(follow_symlinks=False).st_ctime
    except OSError:
        return {}
    newest = sorted(begun.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
    return {run: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) for run, at in newest}
