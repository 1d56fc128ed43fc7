"""The IDs and start times of the runs in a journal, from its directory alone: the engine is not imported."""

from __future__ import annotations

import os
import time

_MOST = 500
"""The largest number of runs offered, newest first."""


def runs_in(state_dir: str) -> dict[str, str]:
    """Return when each run began, by ID, newest first; for a running or killed one, its log's last change counts."""
    begun: dict[str, float] = {}
    try:
        with os.scandir(os.path.join(state_dir, "journal")) as files:
            for file in files:
                run, suffix = os.path.splitext(file.name)
                if suffix == ".ended":  # its modification time is the start of the run
                    begun[run] = file.stat(follow_symlinks=False).st_mtime
                elif suffix == ".log":
                    begun[run] = file.stat(follow_symlinks=False).st_ctime
    except OSError:
        return {}
    newest = sorted(begun.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
    return {run: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) for run, at in newest}
