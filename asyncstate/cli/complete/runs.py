"""The runs in a journal, without opening it as the engine does: only what a list of them shows."""

from __future__ import annotations

import os
import time

_MOST = 500
"""So many runs are offered, the newest."""


def runs_in(state_dir: str) -> dict[str, str]:
    """Return the IDs of runs, newest first, and when each began; runs under way and killed ones come first."""
    folder = os.path.join(state_dir, "journal")
    begun: dict[str, float] = {}
    try:
        logs = [name for name in os.listdir(folder) if name.endswith(".log")]
    except OSError:
        logs = []
    for name in logs:
        try:
            begun[name.removesuffix(".log")] = os.lstat(os.path.join(folder, name)).st_ctime
        except OSError:
            continue
    listed = {**begun, **_recorded(os.path.join(state_dir, "journal.db"))}
    newest = sorted(listed.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
    return {run: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) for run, at in newest}


def _recorded(path: str) -> dict[str, float]:
    if not os.path.isfile(path):
        return {}
    import sqlite3
    from contextlib import closing
    from urllib.parse import quote

    query = "SELECT id, begun FROM runs ORDER BY begun DESC LIMIT ?"
    for mode in ("mode=ro", "mode=ro&immutable=1"):  # the second where the index of its log cannot be made
        try:
            with closing(sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True, timeout=0.1)) as database:
                return dict(database.execute(query, (_MOST,)).fetchall())
        except sqlite3.Error:
            continue
    return {}
